//! A health check without a client: for containers, whose image holds nothing else.

use std::io;
use std::time::Duration;

use http::Uri;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a healthy server may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// How the answer of a healthy server begins, the version's last digit and the code apart.
const STATUS_LINE: &str = "HTTP/1.1 200";

/// Whether `http://HOST:PORT/PATH` answers with 200.
pub async fn probe(url: &str) -> bool {
    matches!(timeout(PROBE_TIMEOUT, get(url)).await, Ok(Ok(true)))
}

async fn get(url: &str) -> io::Result<bool> {
    let uri: Uri = url.parse().map_err(io::Error::other)?;
    let authority = uri.authority().filter(|_| uri.scheme_str() == Some("http"));
    let authority =
        authority.ok_or_else(|| io::Error::other("no address http://HOST:PORT/PATH"))?;
    let host = authority
        .host()
        .trim_start_matches('[')
        .trim_end_matches(']');
    let mut stream = TcpStream::connect((host, authority.port_u16().unwrap_or(80))).await?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let request = format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut status = vec![0; STATUS_LINE.len()];
    stream.read_exact(&mut status).await?;
    Ok(status == STATUS_LINE.as_bytes())
}
