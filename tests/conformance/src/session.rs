//! A blocking HTTP/1.1 client that keeps its connection and sends any bytes.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use crate::http::Endpoint;

const TIMEOUT: Duration = Duration::from_mins(1);

type Stream = BufReader<StreamOwned<ClientConnection, TcpStream>>;

/// A request, letter for letter.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The headers but for those of the connection.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
}

/// A whole answer.
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// The media type, without parameters.
    pub media_type: String,
    /// The body.
    pub body: Vec<u8>,
}

/// A client with at most one connection.
pub struct Session<'a> {
    endpoint: &'a Endpoint,
    stream: Option<Stream>,
}

impl<'a> Session<'a> {
    /// A client of a server.
    pub fn new(endpoint: &'a Endpoint) -> Self {
        Self { endpoint, stream: None }
    }

    /// Sends a request and reads the answer. A connection that the server has closed meanwhile is opened anew.
    pub fn send(&mut self, request: &Request) -> io::Result<Reply> {
        if let Some(stream) = self.stream.take()
            && let Ok(reply) = self.send_over(stream, request)
        {
            return Ok(reply);
        }
        let stream = self.connect()?;
        self.send_over(stream, request)
    }

    fn connect(&self) -> io::Result<Stream> {
        let stream = TcpStream::connect(("127.0.0.1", self.endpoint.port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
        let session = ClientConnection::new(self.endpoint.tls(), name).map_err(io::Error::other)?;
        Ok(BufReader::new(StreamOwned::new(session, stream)))
    }

    fn send_over(&mut self, mut stream: Stream, request: &Request) -> io::Result<Reply> {
        let Request { method, path, headers, body } = request;
        let mut bytes = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n");
        bytes.push_str(&format!("Authorization: Bearer {}\r\n", self.endpoint.token));
        for (key, value) in headers {
            bytes.push_str(&format!("{key}: {value}\r\n"));
        }
        let body = body.as_deref();
        if body.is_some() || !matches!(method.as_str(), "GET" | "HEAD") {
            bytes.push_str(&format!("Content-Length: {}\r\n", body.unwrap_or_default().len()));
        }
        bytes.push_str("\r\n");
        let mut bytes = bytes.into_bytes();
        bytes.extend_from_slice(body.unwrap_or_default());
        // The server may answer before it has read a body that it does not want.
        let _ = stream.get_mut().write_all(&bytes);
        let _ = stream.get_mut().flush();
        let (reply, open) = read(&mut stream, method)?;
        self.stream = open.then_some(stream);
        Ok(reply)
    }
}

/// Reads an answer; whether the connection can be used again comes with it.
fn read(stream: &mut Stream, method: &str) -> io::Result<(Reply, bool)> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status: u16 = status.ok_or_else(|| io::Error::other(format!("no status line: {line:?}")))?;
    let (mut media_type, mut length, mut chunked, mut open) = (String::new(), None, false, true);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let Some((key, value)) = line.trim_end().split_once(':') else { break };
        let value = value.trim();
        match key.to_ascii_lowercase().as_str() {
            "content-type" => value.split(';').next().unwrap_or_default().clone_into(&mut media_type),
            "content-length" => length = value.parse::<usize>().ok(),
            "transfer-encoding" => chunked = value.contains("chunked"),
            "connection" => open &= !value.eq_ignore_ascii_case("close"),
            _ => {}
        }
    }
    let mut body = Vec::new();
    if method == "HEAD" || matches!(status, 204 | 304) {
    } else if chunked {
        loop {
            let mut line = String::new();
            stream.read_line(&mut line)?;
            let size = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
            let start = body.len();
            body.resize(start + size + 2, 0);
            stream.read_exact(&mut body[start..])?;
            body.truncate(start + size);
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = length {
        body.resize(length, 0);
        stream.read_exact(&mut body)?;
    } else {
        open = false;
        let _ = stream.read_to_end(&mut body);
    }
    Ok((Reply { status, media_type, body }, open))
}
