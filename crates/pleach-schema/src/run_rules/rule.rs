//! A rule of a compiled node: its source, and the programs compiled from it when first needed.

use std::fmt;
use std::sync::OnceLock;

use pleach_cel::{DeclType, Declarations, Environment, Program, Type};
use pleach_json::Str;
use pleach_work::Constant;

use crate::JSONSchemaProps;
use crate::cel_types::compiled::decl_type;
use crate::compile::Node;
use crate::props::ValidationRule;
use crate::rules::resolve_field_path;

/// The environment of stored rules, with all libraries.
static ENVIRONMENT: Constant<Environment> = Constant::new(Environment::stored);

/// A rule.
pub struct Rule {
    source: ValidationRule,
    /// `fieldPath` as errors print it.
    field: Option<Str>,
    programs: OnceLock<Result<Programs, String>>,
}

/// A compiled rule.
#[derive(Debug)]
pub(super) struct Programs {
    pub(super) rule: Program,
    /// Whether it looks at `oldSelf`.
    pub(super) is_transition: bool,
    pub(super) message: Option<Program>,
}

impl Rule {
    /// A rule of the node with this schema.
    pub(crate) fn new(source: &ValidationRule, schema: &JSONSchemaProps) -> Self {
        let path = (!source.field_path.is_empty()).then(|| resolve_field_path(&source.field_path, schema));
        let field = path.and_then(Result::ok).map(|path| path.text.into());
        Self { source: source.clone(), field, programs: OnceLock::new() }
    }

    /// The rule as written.
    pub fn source(&self) -> &ValidationRule {
        &self.source
    }

    pub(super) fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// How errors about the rule itself name it.
    pub(super) fn title(&self) -> &str {
        let message = self.source.message.trim();
        if message.is_empty() { self.source.rule.trim() } else { message }
    }

    /// The message when it fails, unless there is a `messageExpression`.
    pub(super) fn message(&self) -> String {
        let message = self.source.message.trim();
        if message.is_empty() {
            format!("failed rule: {}", self.source.rule.trim())
        } else {
            message.to_owned()
        }
    }

    /// The programs, or the error of compiling the rule.
    pub(super) fn programs(&self, node: &Node) -> &Result<Programs, String> {
        self.programs.get_or_init(|| self.compile(node))
    }

    fn compile(&self, node: &Node) -> Result<Programs, String> {
        let decl = decl_type(node).ok_or("unable to convert structural schema to CEL declarations")?;
        let old_self = match self.source.optional_old_self {
            Some(true) => DeclType::optional(decl.clone()),
            _ => decl.clone(),
        };
        let declarations = Declarations::default().with("self", decl).with("oldSelf", old_self);
        let compile = |source: &str| {
            ENVIRONMENT
                .compile(source, &declarations)
                .map_err(|issues| format!("compilation failed: {issues}"))
        };
        let checked = compile(&self.source.rule)?;
        if *checked.output_type() != Type::Bool {
            return Err("cel expression must evaluate to a bool".to_owned());
        }
        let rule =
            Program::new(&checked).map_err(|error| format!("program instantiation failed: {error}"))?;
        let is_transition = checked.uses("oldSelf");
        // A message that cannot be made is as good as none.
        let message = Some(&self.source.message_expression)
            .filter(|source| !source.is_empty())
            .and_then(|source| Program::new(&compile(source).ok()?).ok());
        Ok(Programs { rule, is_transition, message })
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}
