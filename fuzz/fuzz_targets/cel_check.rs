//! Checking of rules: no panic and no endless work; checking again what was printed gives the same
//! type, estimate and explanation.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pleach_cel::{Environment, Program};
use pleach_fuzz::{Bytes, cel};
use pleach_work::Constant;

static STORED: Constant<Environment> = Constant::new(Environment::stored);
static OLD: Constant<Environment> = Constant::new(|| Environment::for_version(28));

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let environment: &Environment = if bytes.next() % 4 == 0 { &OLD } else { &STORED };
    let source = cel::source(&mut bytes);
    let declarations = cel::declarations();
    let checked = match environment.compile(&source, &declarations) {
        Ok(checked) => checked,
        Err(issues) => {
            assert!(!issues.to_string().is_empty());
            return;
        }
    };
    let estimate = checked.cost_estimate();
    assert!(estimate.min <= estimate.max, "{source}: {estimate:?}");
    let explanation = checked.explain_cost();
    assert_eq!(explanation.estimate, estimate, "{source}");
    let planned = Program::new(&checked).map(|_| ());
    if let Ok(again) = environment.compile(&checked.ast().to_string(), &declarations) {
        assert_eq!(again.output_type(), checked.output_type(), "{source}");
        assert_eq!(again.cost_estimate(), estimate, "{source}");
        assert_eq!(Program::new(&again).map(|_| ()), planned, "{source}");
    }
});
