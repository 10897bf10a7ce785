//! Parsing of rules: no panic, for any text and any version; what was parsed is the same expression
//! when it is printed and parsed again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pleach_cel::syntax::parse;
use pleach_fuzz::Bytes;

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let minor = 25 + u32::from(bytes.next() % 12);
    let source = pleach_fuzz::cel::source(&mut bytes);
    let Ok(ast) = parse(&source, minor) else { return };
    let printed = ast.to_string();
    match parse(&printed, minor) {
        Ok(again) => {
            assert!(again.is_same(&ast), "{source}\n{printed}");
            assert_eq!(again.to_string(), printed);
        }
        // Parentheses that logic needs, and escapes in strings, may go beyond what may be written.
        Err(issues) => {
            let text = issues.to_string();
            assert!(
                text.contains("recursion") || text.contains("exceeds limit"),
                "{source}\n{printed}\n{text}"
            );
        }
    }
});
