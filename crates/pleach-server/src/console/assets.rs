//! The files of the page: compressed once when the console is built, sent as they are.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::Path;
use std::sync::OnceLock;

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH, VARY,
};
use http::{Response, header};

use crate::body::Body;
use crate::outcome::Outcome;
use crate::respond;

/// The media type of a page.
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// The page when the console was not built in.
const NOT_BUILT: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width\">
<title>Pleach</title>
<h1>The console is not part of this build</h1>
<p>The server is running; only its web page is missing. With Node 20.19 or newer:</p>
<pre>scripts/build-console.sh
cargo build --release</pre>
<p>Or without building anew, with the files that the script made: <code>pleach serve --console-dir console/dist</code>.</p>
</html>
";

/// The files of the page by their paths.
#[derive(Default)]
pub struct Assets {
    files: HashMap<String, Asset>,
}

/// A file of the page.
struct Asset {
    /// Compressed with gzip.
    packed: Bytes,
    /// For clients that do not read gzip, which browsers do; made for the first of them.
    plain: OnceLock<Bytes>,
    /// The `ETag`.
    tag: Option<HeaderValue>,
}

impl Asset {
    fn new(packed: Bytes) -> Self {
        let tag = format!("\"{}\"", &blake3::hash(&packed).to_hex()[..16]);
        Self { packed, plain: OnceLock::new(), tag: HeaderValue::from_str(&tag).ok() }
    }

    fn plain(&self) -> Bytes {
        self.plain.get_or_init(|| unpacked(&self.packed).into()).clone()
    }
}

impl Assets {
    /// The files that are built in.
    pub fn embedded(files: &'static [(&'static str, &'static [u8])]) -> Self {
        let files =
            files.iter().map(|(name, bytes)| ((*name).to_owned(), Asset::new(Bytes::from_static(bytes))));
        Self { files: files.collect() }
    }

    /// The files that `scripts/build-console.sh` left in a directory.
    pub fn of_directory(directory: &Path) -> std::io::Result<Self> {
        let mut files = HashMap::new();
        for below in ["", "assets"] {
            for entry in std::fs::read_dir(directory.join(below))? {
                let path = entry?.path();
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                if let Some(name) = name.strip_suffix(".gz") {
                    let name = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
                    files.insert(name, Asset::new(std::fs::read(&path)?.into()));
                }
            }
        }
        Ok(Self { files })
    }

    /// Whether there are any.
    pub fn is_built(&self) -> bool {
        self.files.contains_key("index.html")
    }

    /// The path of the engine in WebAssembly.
    pub fn wasm(&self) -> Option<&str> {
        self.files.keys().find(|name| name.ends_with(".wasm")).map(String::as_str)
    }

    /// Serves a file; the empty path is the page.
    pub fn serve(&self, path: &str, headers: &HeaderMap) -> Response<Body> {
        let name = if path.is_empty() { "index.html" } else { path };
        let Some(file) = self.files.get(name) else {
            return if path.is_empty() { not_built() } else { respond::page_not_found() };
        };
        // Names of files other than the page have a hash of their content.
        let is_page = name == "index.html";
        let known = file.tag.is_some() && headers.get(IF_NONE_MATCH) == file.tag.as_ref();
        let reads_gzip = respond::reads_gzip(headers);
        let mut response = match (known, reads_gzip) {
            (true, _) => respond::text(Outcome::NotModified, ""),
            (false, true) => respond::text(Outcome::Ok, file.packed.clone()),
            (false, false) => respond::text(Outcome::Ok, file.plain()),
        };
        let out = response.headers_mut();
        out.insert(CONTENT_TYPE, HeaderValue::from_static(media_type(name)));
        out.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
        if reads_gzip && !known {
            out.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let cache = if is_page { "no-cache" } else { "public, max-age=31536000, immutable" };
        out.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
        if let Some(tag) = &file.tag {
            out.insert(ETAG, tag.clone());
        }
        response
    }
}

fn not_built() -> Response<Body> {
    let mut response = respond::text(Outcome::Ok, NOT_BUILT);
    response.headers_mut().insert(header::CONTENT_TYPE, HTML);
    response
}

fn unpacked(file: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    // The files are ours, and were compressed by the build.
    let _ = flate2::read::GzDecoder::new(file).read_to_end(&mut out);
    out
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "wasm" => "application/wasm",
        "webmanifest" => "application/manifest+json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use http_body_util::BodyExt as _;

    use super::*;

    #[test]
    fn without_files_the_page_says_how_to_get_them() {
        let assets = Assets::default();
        assert!(!assets.is_built());
        let page = assets.serve("", &HeaderMap::new());
        assert_eq!((page.status().as_u16(), &page.headers()[CONTENT_TYPE]), (200, &HTML));
        let bytes = page.into_body().collect().now_or_never().expect("it is in memory").unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        for part in ["The console is not part of this build", "scripts/build-console.sh", "--console-dir"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/build-console.sh");
        assert!(script.is_file(), "the page names it");
        assert_eq!(assets.serve("assets/a.js", &HeaderMap::new()).status().as_u16(), 404);
    }

    #[test]
    fn files_are_sent_compressed_and_once() {
        let packed: &'static [u8] = Box::leak(respond::gzip(b"hello").into_boxed_slice());
        let files: &'static [(&str, &[u8])] =
            Box::leak(Box::new([("index.html", packed), ("assets/a-1.js", packed)]));
        let assets = Assets::embedded(files);
        let mut headers = HeaderMap::new();
        let plain = assets.serve("", &headers);
        assert_eq!(plain.headers().get(CONTENT_ENCODING), None);
        let page = &assets.files["index.html"];
        assert_eq!(&page.plain()[..], b"hello");
        assert_eq!(page.plain().as_ptr(), page.plain().as_ptr(), "it is unpacked once");
        headers.insert("accept-encoding", HeaderValue::from_static("gzip, br"));
        let response = assets.serve("assets/a-1.js", &headers);
        assert_eq!(response.headers()[CONTENT_ENCODING], "gzip");
        assert_eq!(response.headers()[CACHE_CONTROL], "public, max-age=31536000, immutable");
        headers.insert(IF_NONE_MATCH, response.headers()[ETAG].clone());
        assert_eq!(assets.serve("assets/a-1.js", &headers).status().as_u16(), 304);
    }
}
