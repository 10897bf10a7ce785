//! PEM blocks, as Go's `encoding/pem` finds them.

/// A block.
pub(super) struct Block {
    /// `CERTIFICATE`
    pub kind: String,
    /// Whether there are headers before the content.
    pub has_headers: bool,
    /// The content.
    pub content: Vec<u8>,
}

/// All blocks of a text; what is around them, and blocks whose content is not base64, are skipped.
pub(super) fn blocks(text: &[u8]) -> Vec<Block> {
    let text = String::from_utf8_lossy(text);
    let mut found = Vec::new();
    let mut lines = text.lines().map(str::trim_end);
    while let Some(line) = lines.next() {
        let begin = line.strip_prefix("-----BEGIN ").and_then(|rest| rest.strip_suffix("-----"));
        let Some(kind) = begin else { continue };
        let end = format!("-----END {kind}-----");
        let (mut content, mut has_headers, mut is_complete) = (String::new(), false, false);
        for line in lines.by_ref() {
            if line == end {
                is_complete = true;
                break;
            }
            if content.is_empty() && line.contains(':') {
                has_headers = true;
            } else {
                content.extend(line.chars().filter(|c| !c.is_whitespace()));
            }
        }
        if is_complete && let Ok(content) = pleach_go::base64::decode(&content) {
            found.push(Block { kind: kind.to_owned(), has_headers, content });
        }
    }
    found
}
