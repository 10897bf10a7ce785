//! The grammar as an augmented transition network (ANTLR's ATN).
//!
//! Left-recursive rules are loops with precedence predicates, as ANTLR rewrites them. How blocks and
//! loops are made of states decides which tokens an error message lists as expected.

use crate::syntax::lexer::TokenKind as K;
use pleach_work::Constant;

/// The rules of the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Rule {
    Start,
    Expr,
    Or,
    And,
    Relation,
    Calc,
    Unary,
    Member,
    Primary,
    ExprList,
    ListInit,
    FieldInitList,
    OptField,
    MapInitList,
    EscapeIdent,
    OptExpr,
    Literal,
}

/// How many rules there are.
pub(super) const RULES: usize = 17;

/// Labels of the parts of a rule, for the visitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    None,
    /// The main or left operand.
    E,
    /// A further operand.
    E1,
    E2,
    Op,
    Opt,
    Id,
    Open,
    Args,
    Dot,
    Colon,
    Key,
    Value,
    Sign,
    Tok,
}

/// A set of token kinds as bits; the highest is "end of rule" (ANTLR's EPSILON).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tokens(u64);

impl Tokens {
    pub(super) const END_OF_RULE: Self = Self(1 << 63);

    pub(super) fn of(kinds: &[K]) -> Self {
        Self(kinds.iter().fold(0, |bits, kind| bits | 1 << (*kind as u8)))
    }

    pub(super) fn contains(self, kind: K) -> bool {
        self.0 & (1 << (kind as u8)) != 0
    }

    pub(super) fn may_end(self) -> bool {
        self.0 & Self::END_OF_RULE.0 != 0
    }

    pub(super) fn without_end(self) -> Self {
        Self(self.0 & !Self::END_OF_RULE.0)
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The kinds in the order messages list them: the end of the text first.
    pub(super) fn kinds(self) -> impl Iterator<Item = K> {
        let eof = self.contains(K::Eof).then_some(K::Eof);
        eof.into_iter().chain(ALL.into_iter().filter(move |kind| self.contains(*kind)))
    }
}

const ALL: [K; 35] = [
    K::EqualsEquals,
    K::NotEquals,
    K::In,
    K::Less,
    K::LessEquals,
    K::GreaterEquals,
    K::Greater,
    K::And,
    K::Or,
    K::LeftBracket,
    K::RightBracket,
    K::LeftBrace,
    K::RightBrace,
    K::LeftParen,
    K::RightParen,
    K::Dot,
    K::Comma,
    K::Minus,
    K::Not,
    K::QuestionMark,
    K::Colon,
    K::Plus,
    K::Star,
    K::Slash,
    K::Percent,
    K::True,
    K::False,
    K::Null,
    K::Float,
    K::Int,
    K::Uint,
    K::String,
    K::Bytes,
    K::Identifier,
    K::EscapedIdentifier,
];

/// Index of a state.
pub(super) type At = u16;

/// Kinds of states; error recovery depends on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Basic,
    RuleStop,
    BlockStart,
    PlusBlockStart,
    StarBlockStart,
    PlusLoopBack,
    StarLoopBack,
    StarLoopEntry,
}

/// A transition.
#[derive(Debug, Clone, Copy)]
pub(super) enum Edge {
    Free(At),
    Match {
        tokens: Tokens,
        to: At,
        label: Label,
    },
    Call {
        rule: Rule,
        precedence: u8,
        follow: At,
        label: Label,
    },
    /// A precedence predicate.
    Precedence(u8, At),
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) kind: Kind,
    pub(super) rule: Rule,
    pub(super) edges: Vec<Edge>,
    /// Whether the decision is LL(1).
    pub(super) one_token: bool,
    /// Which tokens can come next within the rule.
    pub(super) next: Tokens,
    /// For LL(1) decisions: the first tokens of each alternative.
    pub(super) firsts: Vec<Tokens>,
}

/// A return state of a rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Return {
    pub(super) to: At,
    /// Whether the call was of the whole rule, not of an operand inside itself.
    pub(super) outermost: bool,
}

#[derive(Debug)]
pub(super) struct Atn {
    pub(super) states: Vec<State>,
    pub(super) starts: [At; RULES],
    pub(super) stops: [At; RULES],
    /// By rule, all states that call it.
    pub(super) returns: Vec<Vec<Return>>,
}

/// The network, made once.
pub(super) static ATN: Constant<Atn> = Constant::new(Atn::build);

/// A piece of grammar.
enum G {
    Token(Label, &'static [K]),
    Rule(Label, Rule),
    /// A rule, restricted to operators that bind at least this tightly.
    Operand(Label, Rule, u8),
    Guard(u8),
    Seq(Vec<G>),
    Alt(Vec<G>),
    Opt(Box<G>),
    Star(Box<G>),
    Plus(Box<G>),
}

fn token(kind: &'static [K]) -> G {
    G::Token(Label::None, kind)
}

fn opt(inner: G) -> G {
    G::Opt(Box::new(inner))
}

fn star(inner: Vec<G>) -> G {
    G::Star(Box::new(G::Seq(inner)))
}

/// `first (',' first)*`, with labels.
fn separated(first: &dyn Fn() -> Vec<G>) -> G {
    let mut all = first();
    let mut more = vec![token(&[K::Comma])];
    more.extend(first());
    all.push(star(more));
    G::Seq(all)
}

fn rules() -> Vec<(Rule, G)> {
    use Label as L;
    let comma = || opt(token(&[K::Comma]));
    let name = |label| G::Token(label, &[K::Identifier]);
    let question = || opt(G::Token(L::Opt, &[K::QuestionMark]));
    let dot = || opt(G::Token(L::Dot, &[K::Dot]));
    let minus = || opt(G::Token(L::Sign, &[K::Minus]));
    let arguments = || opt(G::Rule(L::Args, Rule::ExprList));
    vec![
        (Rule::Start, G::Seq(vec![G::Rule(L::E, Rule::Expr), token(&[K::Eof])])),
        (
            Rule::Expr,
            G::Seq(vec![
                G::Rule(L::E, Rule::Or),
                opt(G::Seq(vec![
                    G::Token(L::Op, &[K::QuestionMark]),
                    G::Rule(L::E1, Rule::Or),
                    token(&[K::Colon]),
                    G::Rule(L::E2, Rule::Expr),
                ])),
            ]),
        ),
        (
            Rule::Or,
            G::Seq(vec![
                G::Rule(L::E, Rule::And),
                star(vec![G::Token(L::Op, &[K::Or]), G::Rule(L::E1, Rule::And)]),
            ]),
        ),
        (
            Rule::And,
            G::Seq(vec![
                G::Rule(L::E, Rule::Relation),
                star(vec![G::Token(L::Op, &[K::And]), G::Rule(L::E1, Rule::Relation)]),
            ]),
        ),
        (
            Rule::Relation,
            G::Seq(vec![
                G::Rule(L::E, Rule::Calc),
                star(vec![
                    G::Guard(1),
                    G::Token(
                        L::Op,
                        &[
                            K::Less,
                            K::LessEquals,
                            K::GreaterEquals,
                            K::Greater,
                            K::EqualsEquals,
                            K::NotEquals,
                            K::In,
                        ],
                    ),
                    G::Operand(L::E1, Rule::Relation, 2),
                ]),
            ]),
        ),
        (
            Rule::Calc,
            G::Seq(vec![
                G::Rule(L::E, Rule::Unary),
                G::Star(Box::new(G::Alt(vec![
                    G::Seq(vec![
                        G::Guard(2),
                        G::Token(L::Op, &[K::Star, K::Slash, K::Percent]),
                        G::Operand(L::E1, Rule::Calc, 3),
                    ]),
                    G::Seq(vec![
                        G::Guard(1),
                        G::Token(L::Op, &[K::Plus, K::Minus]),
                        G::Operand(L::E1, Rule::Calc, 2),
                    ]),
                ]))),
            ]),
        ),
        (
            Rule::Unary,
            G::Alt(vec![
                G::Rule(L::E, Rule::Member),
                G::Seq(vec![G::Plus(Box::new(G::Token(L::Op, &[K::Not]))), G::Rule(L::E, Rule::Member)]),
                G::Seq(vec![G::Plus(Box::new(G::Token(L::Op, &[K::Minus]))), G::Rule(L::E, Rule::Member)]),
            ]),
        ),
        (
            Rule::Member,
            G::Seq(vec![
                G::Rule(L::E, Rule::Primary),
                G::Star(Box::new(G::Alt(vec![
                    G::Seq(vec![
                        G::Guard(3),
                        G::Token(L::Op, &[K::Dot]),
                        question(),
                        G::Rule(L::Id, Rule::EscapeIdent),
                    ]),
                    G::Seq(vec![
                        G::Guard(2),
                        G::Token(L::Op, &[K::Dot]),
                        name(L::Id),
                        G::Token(L::Open, &[K::LeftParen]),
                        arguments(),
                        token(&[K::RightParen]),
                    ]),
                    G::Seq(vec![
                        G::Guard(1),
                        G::Token(L::Op, &[K::LeftBracket]),
                        question(),
                        G::Rule(L::E1, Rule::Expr),
                        token(&[K::RightBracket]),
                    ]),
                ]))),
            ]),
        ),
        (
            Rule::Primary,
            G::Alt(vec![
                G::Seq(vec![dot(), name(L::Id)]),
                G::Seq(vec![
                    dot(),
                    name(L::Id),
                    G::Token(L::Op, &[K::LeftParen]),
                    arguments(),
                    token(&[K::RightParen]),
                ]),
                G::Seq(vec![token(&[K::LeftParen]), G::Rule(L::E, Rule::Expr), token(&[K::RightParen])]),
                G::Seq(vec![
                    G::Token(L::Op, &[K::LeftBracket]),
                    opt(G::Rule(L::E, Rule::ListInit)),
                    comma(),
                    token(&[K::RightBracket]),
                ]),
                G::Seq(vec![
                    G::Token(L::Op, &[K::LeftBrace]),
                    opt(G::Rule(L::E, Rule::MapInitList)),
                    comma(),
                    token(&[K::RightBrace]),
                ]),
                G::Seq(vec![
                    dot(),
                    name(L::Id),
                    star(vec![token(&[K::Dot]), name(L::Id)]),
                    G::Token(L::Op, &[K::LeftBrace]),
                    opt(G::Rule(L::E, Rule::FieldInitList)),
                    comma(),
                    token(&[K::RightBrace]),
                ]),
                G::Rule(L::E, Rule::Literal),
            ]),
        ),
        (Rule::ExprList, separated(&|| vec![G::Rule(L::E, Rule::Expr)])),
        (Rule::ListInit, separated(&|| vec![G::Rule(L::E, Rule::OptExpr)])),
        (
            Rule::FieldInitList,
            separated(&|| {
                vec![
                    G::Rule(L::Key, Rule::OptField),
                    G::Token(L::Colon, &[K::Colon]),
                    G::Rule(L::Value, Rule::Expr),
                ]
            }),
        ),
        (Rule::OptField, G::Seq(vec![question(), G::Rule(L::Id, Rule::EscapeIdent)])),
        (
            Rule::MapInitList,
            separated(&|| {
                vec![
                    G::Rule(L::Key, Rule::OptExpr),
                    G::Token(L::Colon, &[K::Colon]),
                    G::Rule(L::Value, Rule::Expr),
                ]
            }),
        ),
        (Rule::EscapeIdent, G::Alt(vec![name(L::Id), G::Token(L::Id, &[K::EscapedIdentifier])])),
        (Rule::OptExpr, G::Seq(vec![question(), G::Rule(L::E, Rule::Expr)])),
        (
            Rule::Literal,
            G::Alt(vec![
                G::Seq(vec![minus(), G::Token(L::Tok, &[K::Int])]),
                G::Token(L::Tok, &[K::Uint]),
                G::Seq(vec![minus(), G::Token(L::Tok, &[K::Float])]),
                G::Token(L::Tok, &[K::String]),
                G::Token(L::Tok, &[K::Bytes]),
                G::Token(L::Tok, &[K::True]),
                G::Token(L::Tok, &[K::False]),
                G::Token(L::Tok, &[K::Null]),
            ]),
        ),
    ]
}

impl Atn {
    fn build() -> Self {
        let mut network = Self {
            states: Vec::new(),
            starts: [0; RULES],
            stops: [0; RULES],
            returns: vec![Vec::new(); RULES],
        };
        let rules = rules();
        for (rule, _) in &rules {
            network.starts[*rule as usize] = network.state(*rule, Kind::Basic);
            network.stops[*rule as usize] = network.state(*rule, Kind::RuleStop);
        }
        for (rule, grammar) in &rules {
            let (first, last) = network.piece(*rule, grammar);
            network.free(network.starts[*rule as usize], first);
            network.free(last, network.stops[*rule as usize]);
        }
        for state in &network.states {
            for edge in &state.edges {
                if let Edge::Call { rule, precedence, follow, .. } = edge {
                    let to = Return { to: *follow, outermost: *precedence == 0 };
                    network.returns[*rule as usize].push(to);
                }
            }
        }
        for at in 0..network.states.len() {
            let firsts = network.firsts(at as At);
            let next = network.look(at as At);
            let state = &mut network.states[at];
            state.next = next;
            state.one_token = firsts.is_some();
            state.firsts = firsts.unwrap_or_default();
        }
        network
    }

    fn state(&mut self, rule: Rule, kind: Kind) -> At {
        self.states.push(State {
            kind,
            rule,
            edges: Vec::new(),
            one_token: false,
            next: Tokens::default(),
            firsts: Vec::new(),
        });
        (self.states.len() - 1) as At
    }

    fn edge(&mut self, from: At, edge: Edge) {
        self.states[from as usize].edges.push(edge);
    }

    fn free(&mut self, from: At, to: At) {
        self.edge(from, Edge::Free(to));
    }

    /// The first and last state of a piece.
    fn piece(&mut self, rule: Rule, grammar: &G) -> (At, At) {
        match grammar {
            G::Token(label, kinds) => {
                let (from, to) = (self.state(rule, Kind::Basic), self.state(rule, Kind::Basic));
                self.edge(from, Edge::Match { tokens: Tokens::of(kinds), to, label: *label });
                (from, to)
            }
            G::Rule(label, called) => self.call(rule, *label, *called, 0),
            G::Operand(label, called, precedence) => self.call(rule, *label, *called, *precedence),
            G::Guard(precedence) => {
                let (from, to) = (self.state(rule, Kind::Basic), self.state(rule, Kind::Basic));
                self.edge(from, Edge::Precedence(*precedence, to));
                (from, to)
            }
            G::Seq(parts) => {
                let mut ends: Option<(At, At)> = None;
                for part in parts {
                    let (first, last) = self.piece(rule, part);
                    ends = Some(match ends {
                        None => (first, last),
                        Some((start, end)) => {
                            self.free(end, first);
                            (start, last)
                        }
                    });
                }
                ends.expect("a sequence has parts")
            }
            G::Alt(_) => self.block(rule, Kind::BlockStart, grammar),
            G::Opt(inner) => {
                let (start, end) = self.block(rule, Kind::BlockStart, inner);
                self.free(start, end);
                (start, end)
            }
            G::Star(inner) => {
                let entry = self.state(rule, Kind::StarLoopEntry);
                let (start, end) = self.block(rule, Kind::StarBlockStart, inner);
                let back = self.state(rule, Kind::StarLoopBack);
                let out = self.state(rule, Kind::Basic);
                self.free(entry, start);
                self.free(entry, out);
                self.free(end, back);
                self.free(back, entry);
                (entry, out)
            }
            G::Plus(inner) => {
                let (start, end) = self.block(rule, Kind::PlusBlockStart, inner);
                let back = self.state(rule, Kind::PlusLoopBack);
                let out = self.state(rule, Kind::Basic);
                self.free(end, back);
                self.free(back, start);
                self.free(back, out);
                (start, out)
            }
        }
    }

    fn call(&mut self, rule: Rule, label: Label, called: Rule, precedence: u8) -> (At, At) {
        let (from, follow) = (self.state(rule, Kind::Basic), self.state(rule, Kind::Basic));
        self.edge(from, Edge::Call { rule: called, precedence, follow, label });
        (from, follow)
    }

    fn block(&mut self, rule: Rule, kind: Kind, inner: &G) -> (At, At) {
        let (start, end) = (self.state(rule, kind), self.state(rule, Kind::Basic));
        let one = std::slice::from_ref(inner);
        let alternatives = if let G::Alt(alternatives) = inner { alternatives } else { one };
        for alternative in alternatives {
            let (first, last) = self.piece(rule, alternative);
            self.free(start, first);
            self.free(last, end);
        }
        (start, end)
    }

    /// The first tokens of each alternative, from any caller, if they are disjoint.
    fn firsts(&self, at: At) -> Option<Vec<Tokens>> {
        let state = &self.states[at as usize];
        if state.edges.len() < 2 || state.kind == Kind::RuleStop {
            return Some(Vec::new());
        }
        let mut firsts: Vec<Tokens> = Vec::new();
        for edge in &state.edges {
            let Edge::Free(to) = edge else { return None };
            let look = self.look_anywhere(*to)?;
            if firsts.iter().any(|other| other.meets(look)) {
                return None;
            }
            firsts.push(look);
        }
        Some(firsts)
    }
}
