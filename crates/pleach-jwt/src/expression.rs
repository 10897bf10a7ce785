//! CEL expressions about claims and users: compiled once, evaluated within upstream's limits.

use pleach_cel::function::operators::OPT_SELECT;
use pleach_cel::{
    Activation, Ast, Bound, CelValue, CostBudget, DeclType, Declarations, Environment, Expr, ExprId,
    ListKind, Literal, ObjectType, Program, Type,
};
use pleach_json::{Str, Value};
use pleach_work::Constant;

/// The cost limit of all expressions of a token together.
const BUDGET: i64 = 10_000_000;

static ENVIRONMENT: Constant<Environment> = Constant::new(Environment::stored);
static CLAIMS: Constant<Declarations> =
    Constant::new(|| Declarations::new().with("claims", DeclType::map(DeclType::other(Type::Dyn), None)));
static USER: Constant<Declarations> = Constant::new(|| {
    let text = || DeclType::string(None, None);
    let texts = || DeclType::list(text(), ListKind::Atomic, None);
    let user = ObjectType::new("kubernetes.UserInfo")
        .with_field("username", text())
        .with_field("uid", text())
        .with_field("groups", texts())
        .with_field("extra", DeclType::map(texts(), None));
    Declarations::new().with("user", DeclType::object(user, []))
});

/// The types that an expression may evaluate to, as the checker knows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Returns {
    /// Anything: the value is looked at when there is one.
    Any,
    /// A bool.
    Bool,
}

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Expression {
    /// The source.
    pub(crate) text: String,
    program: Program,
    /// Whether `claims.email` is used, and `claims.email_verified`.
    pub(crate) uses_email: bool,
    pub(crate) uses_email_verified: bool,
}

/// The budget of the expressions of one token.
pub(crate) fn budget() -> CostBudget {
    CostBudget::new(BUDGET)
}

impl Expression {
    /// An expression of the variable `claims`.
    pub(crate) fn of_claims(text: &str, returns: Returns) -> Result<Self, String> {
        Self::compile(text, &CLAIMS, returns)
    }

    /// An expression of the variable `user`.
    pub(crate) fn of_user(text: &str, returns: Returns) -> Result<Self, String> {
        Self::compile(text, &USER, returns)
    }

    fn compile(text: &str, declarations: &Declarations, returns: Returns) -> Result<Self, String> {
        let checked = ENVIRONMENT
            .compile(text, declarations)
            .map_err(|issues| format!("compilation failed: {issues}"))?;
        if returns == Returns::Bool && *checked.output_type() != Type::Bool {
            return Err("must evaluate to bool".into());
        }
        let program =
            Program::new(&checked).map_err(|error| format!("program instantiation failed: {error}"))?;
        let ast = checked.ast();
        let uses = |field: &str| selects(ast, ast.root(), field);
        Ok(Self {
            uses_email: uses("email"),
            uses_email_verified: uses("email_verified"),
            text: text.to_owned(),
            program,
        })
    }

    /// The value for the claims, or for the user.
    pub(crate) fn eval<'a>(
        &'a self,
        variables: &'a [Bound<'a>; 1],
        budget: &mut CostBudget,
    ) -> Result<CelValue<'a>, String> {
        let value = self.program.eval(&Activation::of_others(variables), budget);
        value.map_err(|error| format!("expression '{}' resulted in error: {error}", self.text))
    }
}

/// Whether an expression selects a field of `claims`, also as `claims.?field`.
fn selects(ast: &Ast, id: ExprId, field: &str) -> bool {
    let is_claims = |id: ExprId| matches!(ast.expr(id), Expr::Ident(name) if name == "claims");
    let found = match ast.expr(id) {
        Expr::Select { operand, field: selected, .. } => selected == field && is_claims(*operand),
        Expr::Call { target: None, function, args } if function == OPT_SELECT => match args[..] {
            [operand, name] => {
                is_claims(operand)
                    && matches!(ast.expr(name), Expr::Literal(Literal::String(text)) if text == field)
            }
            _ => false,
        },
        _ => false,
    };
    found || ast.children(id).into_iter().any(|child| selects(ast, child, field))
}

/// A text, or a list of texts; empty texts, empty lists and null are none.
pub(crate) fn texts(value: &CelValue<'_>) -> Result<Vec<Str>, String> {
    let unexpected = || "expression must return a string or a list of strings".to_owned();
    let mut found = Vec::new();
    match value {
        CelValue::String(text) => found.push(Str::from(text.as_str())),
        CelValue::List(list) => {
            for item in list {
                let item = item.map_err(|_| unexpected())?;
                found.push(item.as_str().map(Str::from).ok_or_else(unexpected)?);
            }
        }
        CelValue::Null => {}
        _ => return Err(unexpected()),
    }
    found.retain(|text| !text.is_empty());
    Ok(found)
}

/// The only variable of an expression.
pub(crate) fn variable(value: &Value) -> [Bound<'_>; 1] {
    [Bound::Value(value)]
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn expressions_are_compiled_and_evaluated() {
        let claims = json!({"sub": "ann", "groups": ["a", "", "b"], "n": 1});
        let variables = variable(&claims);
        let eval = |text: &str| {
            let expression = Expression::of_claims(text, Returns::Any).unwrap();
            let mut budget = budget();
            expression.eval(&variables, &mut budget).and_then(|value| texts(&value))
        };
        assert_eq!(eval("claims.sub + '-x'").unwrap(), ["ann-x"]);
        assert_eq!(eval("claims.groups").unwrap(), ["a", "b"]);
        assert_eq!(eval("claims.groups.map(g, 'p:' + g)").unwrap(), ["p:a", "p:", "p:b"]);
        assert_eq!(eval("claims.?email.orValue('')").unwrap(), Vec::<Str>::new());
        assert!(eval("claims.n").unwrap_err().contains("must return a string or a list of strings"));
        assert!(eval("[1]").unwrap_err().contains("must return a string or a list of strings"));
        assert!(eval("claims.nothing").unwrap_err().contains("no such key: nothing"));
        let error = Expression::of_claims("claims.sub", Returns::Bool).unwrap_err();
        assert_eq!(error, "must evaluate to bool");
        assert!(
            Expression::of_claims("user.username", Returns::Any)
                .unwrap_err()
                .contains("undeclared reference")
        );
        assert!(
            Expression::of_user("user.name == ''", Returns::Bool).unwrap_err().contains("undefined field")
        );
    }

    #[test]
    fn selections_of_claims_are_found() {
        for (text, email, verified) in [
            ("claims.email", true, false),
            ("claims.?email_verified.orValue(true) ? claims.email : ''", true, true),
            ("has(claims.email_verified)", false, true),
            ("['email'].exists(e, e == claims.email_verified)", false, true),
            ("claims.other.email", false, false),
            ("claims['email']", false, false),
        ] {
            let found = Expression::of_claims(text, Returns::Any).unwrap();
            assert_eq!((found.uses_email, found.uses_email_verified), (email, verified), "{text}");
        }
    }
}
