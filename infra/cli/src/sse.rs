//! Server-sent events, parsed by the HTML standard. Invariants: chunk boundaries have no effect; a
//! message without its final empty line is never delivered; the buffer of an incomplete message is
//! bounded.

use std::collections::VecDeque;
use std::time::Duration;

/// Longest line, and largest data of one message, in bytes; the service's are far smaller.
pub const MAX_MESSAGE: usize = 1_024 * 1_024;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its id; none if it has none of its own.
    pub id: Option<String>,
    /// Its data, lines and all.
    pub data: String,
}

/// A message is larger than [`MAX_MESSAGE`].
#[derive(Debug, PartialEq, Eq)]
pub struct TooLarge;

/// Reads bytes into messages. The type of a message is skipped: its data contains it as well.
#[derive(Debug, Default)]
pub struct Reader {
    line: Vec<u8>,
    /// A line feed that follows belongs to the carriage return before it.
    after_return: bool,
    begun: bool,
    id: Option<String>,
    data: Option<String>,
    /// Pause before the next try that the server asked for.
    pub retry: Option<Duration>,
    ready: VecDeque<Message>,
}

impl Reader {
    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        for &byte in bytes {
            match byte {
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = byte == b'\r';
                    self.end_of_line()?;
                }
                _ => {
                    self.after_return = false;
                    self.line.push(byte);
                    if self.line.len() > MAX_MESSAGE {
                        return Err(TooLarge);
                    }
                }
            }
        }
        Ok(())
    }

    /// The next message that is whole.
    pub fn next(&mut self) -> Option<Message> {
        self.ready.pop_front()
    }

    fn end_of_line(&mut self) -> Result<(), TooLarge> {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        let first = !std::mem::replace(&mut self.begun, true);
        let line = match line.strip_prefix('\u{feff}') {
            Some(rest) if first => rest,
            _ => &line,
        };
        if line.is_empty() {
            let (id, data) = (self.id.take(), self.data.take());
            self.ready.extend(data.map(|data| Message { id, data }));
            return Ok(());
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => {
                let data = match self.data.take() {
                    Some(before) => format!("{before}\n{value}"),
                    None => value.to_owned(),
                };
                if data.len() > MAX_MESSAGE {
                    return Err(TooLarge);
                }
                self.data = Some(data);
            }
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" if value.bytes().all(|b| b.is_ascii_digit()) => {
                self.retry = value.parse().ok().map(Duration::from_millis);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(parts: &[&[u8]]) -> Vec<(Option<String>, String)> {
        let mut reader = Reader::default();
        for part in parts {
            reader.feed(part).unwrap();
        }
        std::iter::from_fn(|| reader.next())
            .map(|message| (message.id, message.data))
            .collect()
    }

    fn one(id: Option<&str>, data: &str) -> (Option<String>, String) {
        (id.map(str::to_owned), data.to_owned())
    }

    const STREAM: &str = "\u{feff}: keep-alive\r\nretry: 1500\r\n\r\nid: 7\r\nevent: x\ndata: ä\rdata:b\n\ndata\n\nid:8\n\ndata: not over";

    #[test]
    fn messages_read_the_same_wherever_they_are_cut() {
        let wanted = [one(Some("7"), "ä\nb"), one(None, "")];
        let bytes = STREAM.as_bytes();
        assert_eq!(read(&[bytes]), wanted);
        for cut in 0..bytes.len() {
            let (head, tail) = bytes.split_at(cut);
            assert_eq!(read(&[head, tail]), wanted, "cut at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(&single), wanted);
    }

    #[test]
    fn the_server_says_how_long_to_wait() {
        let mut reader = Reader::default();
        reader.feed(b"retry: 1500\nretry: soon\n").unwrap();
        assert_eq!(reader.retry, Some(Duration::from_millis(1_500)));
    }

    #[test]
    fn a_message_without_an_end_does_not_grow_without_one() {
        let much = vec![b'x'; MAX_MESSAGE + 1];
        assert_eq!(Reader::default().feed(&much), Err(TooLarge));
        let line = [b"data: ", &much[..MAX_MESSAGE / 2 - 6], b"\n"].concat();
        let mut reader = Reader::default();
        let fed: Vec<_> = (0..3).map(|_| reader.feed(&line)).collect();
        assert!(fed.contains(&Err(TooLarge)));
        let comments = b": x\n".repeat(MAX_MESSAGE / 2);
        assert_eq!(Reader::default().feed(&comments), Ok(()));
    }
}
