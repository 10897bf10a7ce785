//! The parser interpreter with ANTLR's error recovery.
//!
//! On a token that does not match: delete it if the next one matches, else insert the missing one if
//! the current one can follow it, else leave the rule and skip to a token that some caller can continue
//! with. Nothing is reported while skipping.

use crate::syntax::MAX_DEPTH;
use crate::syntax::builder::Builder;
use crate::syntax::lexer::{Token, TokenKind as K, Unrecognized};
use crate::syntax::recovery::grammar::{ATN, At, Atn, Edge, Kind, Label, RULES, Rule, Tokens};
use crate::syntax::recovery::predict::{Prediction, Predictor};
use crate::syntax::recovery::tree::{Item, Tree};
use pleach_json::grow_stack;
use std::cell::Cell;

/// The maximum number of recovery attempts.
const MAX_ATTEMPTS: u32 = 30;
/// How many tokens one attempt may skip.
const MAX_SKIPPED: usize = 256;
/// The maximum number of syntax errors reported.
const MAX_REPORTS: u32 = 100;

thread_local! {
    /// Cached lookahead decisions, which depend only on the grammar.
    static PREDICTOR: Cell<Option<Predictor<'static>>> = const { Cell::new(None) };
}

/// Parsing was aborted.
pub(super) struct Abort;

/// Recognition errors.
enum Fault {
    /// ANTLR's InputMismatch, with the expected tokens.
    Mismatch(Tokens),
    /// ANTLR's NoViableAlt: the range of tokens.
    NoViable(usize, usize),
    Abort,
}

impl From<Abort> for Fault {
    fn from(_: Abort) -> Self {
        Self::Abort
    }
}

pub(super) struct Interpreter<'t> {
    network: &'static Atn,
    predictor: Predictor<'static>,
    pub(super) builder: Builder,
    tokens: &'t [Token],
    unrecognized: &'t [Unrecognized],
    /// How many of `unrecognized` are reported.
    reported: usize,
    /// The furthest token that was read.
    fetched: Cell<usize>,
    at: usize,
    /// The current state.
    state: At,
    /// The return states, innermost last.
    callers: Vec<At>,
    depth: [u32; RULES],
    recovering: bool,
    /// The position and states of the last recovery, to detect a lack of progress.
    last_error: Option<(usize, Vec<At>)>,
    attempts: u32,
    reports: u32,
}

impl<'t> Interpreter<'t> {
    pub(super) fn new(builder: Builder, tokens: &'t [Token], unrecognized: &'t [Unrecognized]) -> Self {
        let network = &*ATN;
        Self {
            network,
            predictor: PREDICTOR.take().unwrap_or_else(|| Predictor::new(network)),
            builder,
            tokens,
            unrecognized,
            reported: 0,
            fetched: Cell::new(0),
            at: 0,
            state: 0,
            callers: Vec::new(),
            depth: [0; RULES],
            recovering: false,
            last_error: None,
            attempts: 0,
            reports: 0,
        }
    }

    /// Everything from the start rule on.
    pub(super) fn run(&mut self) -> Result<Tree, Abort> {
        let tree = self.rule(Rule::Start, 0);
        let mut predictor = std::mem::replace(&mut self.predictor, Predictor::new(self.network));
        predictor.forget_stacks();
        PREDICTOR.set(Some(predictor));
        let tree = tree?;
        self.report_unrecognized(self.tokens.len())?;
        Ok(tree)
    }

    fn token(&self, ahead: usize) -> &'t Token {
        let index = (self.at + ahead).min(self.tokens.len() - 1);
        self.fetched.set(self.fetched.get().max(index));
        &self.tokens[index]
    }

    fn la(&mut self, ahead: usize) -> Result<K, Abort> {
        let kind = self.token(ahead).kind;
        self.report_unrecognized(self.fetched.get())?;
        Ok(kind)
    }

    /// Reports what was skipped before the token `index`.
    fn report_unrecognized(&mut self, index: usize) -> Result<(), Abort> {
        let until = self.tokens.get(index).map_or(u32::MAX, |token| token.offset);
        while let Some(skipped) = self.unrecognized.get(self.reported).filter(|u| u.offset < until) {
            self.reported += 1;
            let text = self.builder.slice(&skipped.bytes);
            self.report(skipped.offset, &format!("token recognition error at: '{text}'"))?;
        }
        Ok(())
    }

    fn report(&mut self, offset: u32, message: &str) -> Result<(), Abort> {
        if self.reports >= MAX_REPORTS {
            self.builder.error(offset, format!("Syntax error: More than {MAX_REPORTS} syntax errors."));
            return Err(Abort);
        }
        self.reports += 1;
        self.builder.error(offset, format!("Syntax error: {message}"));
        Ok(())
    }

    fn rule(&mut self, rule: Rule, precedence: u8) -> Result<Tree, Abort> {
        grow_stack(|| self.rule_in_place(rule, precedence))
    }

    fn rule_in_place(&mut self, rule: Rule, precedence: u8) -> Result<Tree, Abort> {
        self.enter(rule)?;
        let mut tree = Tree { rule, alternative: 0, offset: self.token(0).offset, items: Vec::new() };
        match self.body(rule, precedence, &mut tree) {
            Ok(()) => {}
            Err(Fault::Abort) => return Err(Abort),
            Err(fault) => {
                self.report_fault(&fault)?;
                self.recover()?;
            }
        }
        self.depth[rule as usize] -= 1;
        Ok(tree)
    }

    fn enter(&mut self, rule: Rule) -> Result<(), Abort> {
        let depth = &mut self.depth[rule as usize];
        *depth += 1;
        if *depth > MAX_DEPTH {
            self.builder.error_without_place(format!("expression recursion limit exceeded: {MAX_DEPTH}"));
            return Err(Abort);
        }
        Ok(())
    }

    fn body(&mut self, rule: Rule, precedence: u8, tree: &mut Tree) -> Result<(), Fault> {
        let network = self.network;
        let mut at = network.starts[rule as usize];
        let mut alternative = 1;
        loop {
            let state = &network.states[at as usize];
            let follow = |edge: usize| match state.edges.get(edge) {
                Some(Edge::Free(to)) => *to,
                _ => network.stops[rule as usize],
            };
            match state.kind {
                Kind::RuleStop => return Ok(()),
                Kind::BlockStart => {
                    self.sync(at)?;
                    let chosen = self.choose(at, precedence)?;
                    if tree.items.is_empty() && tree.alternative == 0 {
                        tree.alternative = chosen;
                    }
                    at = follow(chosen - 1);
                }
                Kind::PlusBlockStart => {
                    self.sync(at)?;
                    at = follow(0);
                }
                Kind::PlusLoopBack => {
                    self.sync(at)?;
                    at = follow(self.choose(at, precedence)? - 1);
                    if let Some(Edge::Free(first)) = network.states[at as usize].edges.first()
                        && network.states[at as usize].kind == Kind::PlusBlockStart
                    {
                        at = *first;
                    }
                }
                Kind::StarLoopEntry => {
                    self.sync(at)?;
                    at = follow(self.choose(at, precedence)? - 1);
                }
                Kind::StarLoopBack => {
                    self.sync(at)?;
                    let Some(Edge::Free(entry)) = state.edges.first() else { return Ok(()) };
                    let chosen = self.choose(*entry, precedence)?;
                    at = match network.states[*entry as usize].edges.get(chosen - 1) {
                        Some(Edge::Free(to)) => *to,
                        _ => return Ok(()),
                    };
                }
                Kind::StarBlockStart => {
                    alternative = 1;
                    if state.edges.len() > 1 {
                        self.sync(at)?;
                        alternative = self.choose(at, precedence)?;
                    }
                    at = follow(alternative - 1);
                }
                Kind::Basic => match state.edges.first() {
                    Some(Edge::Free(to)) => at = *to,
                    Some(Edge::Precedence(_, to)) => {
                        // Another operator: the tree so far becomes its left operand.
                        let next = Tree { rule, alternative, offset: tree.offset, items: Vec::new() };
                        let left = std::mem::replace(tree, next);
                        tree.items.push((Label::E, Item::Tree(left)));
                        at = *to;
                    }
                    Some(Edge::Match { tokens, to, label }) => {
                        let token = self.match_token(at, *tokens)?;
                        tree.items.push((*label, Item::Token(token)));
                        at = *to;
                    }
                    Some(Edge::Call { rule: called, precedence, follow, label }) => {
                        self.state = at;
                        self.callers.push(*follow);
                        let child = self.rule(*called, *precedence)?;
                        self.callers.pop();
                        tree.items.push((*label, Item::Tree(child)));
                        at = *follow;
                    }
                    None => return Ok(()),
                },
            }
        }
    }

    /// The alternative to take, from 1.
    fn choose(&mut self, at: At, precedence: u8) -> Result<usize, Fault> {
        let state = &self.network.states[at as usize];
        if state.one_token {
            let next = self.la(0)?;
            // An optional block is skipped if nothing matches; otherwise it is an error.
            let optional = state.kind != Kind::BlockStart || self.is_optional(at);
            return match state.firsts.iter().position(|first| first.contains(next)) {
                Some(i) => Ok(i + 1),
                None if optional => Ok(state.edges.len()),
                None => Err(Fault::NoViable(self.at, self.at)),
            };
        }
        let (tokens, start) = (self.tokens, self.at);
        let fetched = &self.fetched;
        let token = |ahead: usize| {
            let index = (start + ahead).min(tokens.len() - 1);
            fetched.set(fetched.get().max(index));
            tokens[index].kind
        };
        let prediction = self.predictor.predict(at, precedence, &token);
        self.report_unrecognized(self.fetched.get())?;
        match prediction {
            Prediction::Alternative(alternative) => Ok(alternative),
            Prediction::Nothing(ahead) => {
                Err(Fault::NoViable(start, (start + ahead).min(self.tokens.len() - 1)))
            }
        }
    }

    /// Whether the last edge of a block only skips it.
    fn is_optional(&self, at: At) -> bool {
        let state = &self.network.states[at as usize];
        match state.edges.last() {
            Some(Edge::Free(to)) => {
                let target = &self.network.states[*to as usize];
                target.kind == Kind::Basic && matches!(target.edges.first(), Some(Edge::Free(_)))
            }
            _ => false,
        }
    }

    fn match_token(&mut self, at: At, tokens: Tokens) -> Result<Token, Fault> {
        self.state = at;
        if tokens.contains(self.la(0)?) {
            let token = self.token(0).clone();
            self.matched();
            self.consume();
            return Ok(token);
        }
        // Single token deletion or insertion.
        self.attempt()?;
        let expected = self.expected();
        if expected.contains(self.la(1)?) {
            self.unwanted(expected)?;
            self.consume();
            let token = self.token(0).clone();
            self.matched();
            self.consume();
            return Ok(token);
        }
        let Some(Edge::Match { to, .. }) = self.network.states[at as usize].edges.first() else {
            return Err(Fault::Mismatch(expected));
        };
        if self.network.look_in(*to, &self.callers).contains(self.la(0)?) {
            let offset = self.token(0).offset;
            if !self.recovering {
                self.recovering = true;
                let message = format!("missing {} at {}", show_set(expected), self.show(self.at));
                self.report(offset, &message)?;
            }
            let kind = expected.kinds().next().unwrap_or(K::Eof);
            return Ok(Token { kind, bytes: 0..0, offset });
        }
        Err(Fault::Mismatch(expected))
    }

    fn consume(&mut self) {
        pleach_work::charge(1);
        if self.token(0).kind != K::Eof {
            self.at += 1;
        }
    }

    fn matched(&mut self) {
        self.recovering = false;
        self.last_error = None;
    }

    /// ANTLR's sync: whether the next token is viable at the start of a block or loop.
    fn sync(&mut self, at: At) -> Result<(), Fault> {
        self.state = at;
        if self.recovering {
            return Ok(());
        }
        let next = self.network.states[at as usize].next;
        if next.may_end() || next.contains(self.la(0)?) {
            return Ok(());
        }
        let expected = self.expected();
        if matches!(self.network.states[at as usize].kind, Kind::PlusLoopBack | Kind::StarLoopBack) {
            self.unwanted(expected)?;
            let until = expected.union(self.recovery_set());
            self.skip_until(until, usize::MAX)?;
            return Ok(());
        }
        if expected.contains(self.la(1)?) {
            self.unwanted(expected)?;
            self.consume();
            self.matched();
            return Ok(());
        }
        Err(Fault::Mismatch(expected))
    }

    fn unwanted(&mut self, expected: Tokens) -> Result<(), Abort> {
        if self.recovering {
            return Ok(());
        }
        self.recovering = true;
        let message = format!("extraneous input {} expecting {}", self.show(self.at), show_set(expected));
        self.report(self.token(0).offset, &message)
    }

    fn report_fault(&mut self, fault: &Fault) -> Result<(), Abort> {
        if self.recovering {
            return Ok(());
        }
        self.recovering = true;
        match fault {
            Fault::Mismatch(expected) => {
                let message =
                    format!("mismatched input {} expecting {}", self.show(self.at), show_set(*expected));
                self.report(self.token(0).offset, &message)
            }
            Fault::NoViable(first, last) => {
                let message = match self.show_range(*first, *last).as_str() {
                    // A field or variable named like a constant.
                    name @ ("'.true'" | "'.false'" | "'.null'") => {
                        format!("mismatched input '{} expecting IDENTIFIER", &name[2..])
                    }
                    input => format!("no viable alternative at input {input}"),
                };
                self.report(self.tokens[*last].offset, &message)
            }
            Fault::Abort => Ok(()),
        }
    }

    fn attempt(&mut self) -> Result<(), Abort> {
        if self.attempts == MAX_ATTEMPTS {
            let message = format!("error recovery attempt limit exceeded: {MAX_ATTEMPTS}");
            self.report(self.token(0).offset, &message)?;
            return Err(Abort);
        }
        self.attempts += 1;
        Ok(())
    }

    /// Skips to a token that some caller can continue with.
    fn recover(&mut self) -> Result<(), Abort> {
        self.attempt()?;
        let mut allowed = MAX_SKIPPED;
        if let Some((at, states)) = &self.last_error
            && *at == self.at
            && states.contains(&self.state)
        {
            // No progress since the last recovery.
            self.consume();
            allowed -= 1;
        }
        match &mut self.last_error {
            Some((at, states)) => {
                *at = self.at;
                states.push(self.state);
            }
            none => *none = Some((self.at, vec![self.state])),
        }
        self.skip_until(self.recovery_set(), allowed)
    }

    fn skip_until(&mut self, set: Tokens, mut allowed: usize) -> Result<(), Abort> {
        loop {
            let next = self.la(0)?;
            if next == K::Eof || set.contains(next) {
                return Ok(());
            }
            if allowed == 0 {
                let message = format!("error recovery token lookahead limit exceeded: {MAX_SKIPPED}");
                self.builder.error_without_place(message);
                return Err(Abort);
            }
            allowed -= 1;
            self.consume();
        }
    }

    /// The recovery set: tokens that can follow in any caller.
    fn recovery_set(&self) -> Tokens {
        let all = self
            .callers
            .iter()
            .fold(Tokens::default(), |set, at| set.union(self.network.states[*at as usize].next));
        all.without_end()
    }

    /// The expected tokens at the current state, callers included.
    fn expected(&self) -> Tokens {
        let mut following = self.network.states[self.state as usize].next;
        let mut expected = following.without_end();
        for at in self.callers.iter().rev() {
            if !following.may_end() {
                break;
            }
            following = self.network.states[*at as usize].next;
            expected = expected.union(following.without_end());
        }
        if following.may_end() { expected.union(Tokens::of(&[K::Eof])) } else { expected }
    }

    fn show(&self, index: usize) -> String {
        self.show_range(index, index)
    }

    /// The text of a range of tokens, as messages quote it.
    fn show_range(&self, first: usize, last: usize) -> String {
        let (first, last) = (&self.tokens[first], &self.tokens[last]);
        if first.kind == K::Eof {
            return "'<EOF>'".into();
        }
        let mut text = String::new();
        let mut from = first.bytes.start;
        for skipped in self
            .unrecognized
            .iter()
            .filter(|u| u.bytes.start >= first.bytes.start && u.bytes.end <= last.bytes.end)
        {
            text.push_str(self.builder.slice(&(from..skipped.bytes.start)));
            from = skipped.bytes.end;
        }
        text.push_str(self.builder.slice(&(from..last.bytes.end)));
        let text = text.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r");
        format!("'{text}'")
    }
}

fn show_set(tokens: Tokens) -> String {
    let names: Vec<&str> = tokens.kinds().map(name).collect();
    match names.as_slice() {
        [one] => (*one).to_owned(),
        _ => format!("{{{}}}", names.join(", ")),
    }
}

/// The display name of a token kind.
fn name(kind: K) -> &'static str {
    match kind {
        K::EqualsEquals => "'=='",
        K::NotEquals => "'!='",
        K::In => "'in'",
        K::Less => "'<'",
        K::LessEquals => "'<='",
        K::GreaterEquals => "'>='",
        K::Greater => "'>'",
        K::And => "'&&'",
        K::Or => "'||'",
        K::LeftBracket => "'['",
        K::RightBracket => "']'",
        K::LeftBrace => "'{'",
        K::RightBrace => "'}'",
        K::LeftParen => "'('",
        K::RightParen => "')'",
        K::Dot => "'.'",
        K::Comma => "','",
        K::Minus => "'-'",
        K::Not => "'!'",
        K::QuestionMark => "'?'",
        K::Colon => "':'",
        K::Plus => "'+'",
        K::Star => "'*'",
        K::Slash => "'/'",
        K::Percent => "'%'",
        K::True => "'true'",
        K::False => "'false'",
        K::Null => "'null'",
        K::Float => "NUM_FLOAT",
        K::Int => "NUM_INT",
        K::Uint => "NUM_UINT",
        K::String => "STRING",
        K::Bytes => "BYTES",
        K::Identifier => "IDENTIFIER",
        K::EscapedIdentifier => "ESC_IDENTIFIER",
        K::Eof => "<EOF>",
    }
}
