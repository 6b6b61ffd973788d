//! A loader in the shape of Cersei's: all parts in one string, one typed pass for the tombstones, one for the entries.
//! The comparator of the load benchmark, written for it after the description of that format.

use serde::Deserialize;
use std::collections::HashSet;
use std::{env, fs};

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[allow(dead_code)]
enum Entry {
    User(Said),
    Assistant(Said),
    System(Said),
    Summary { uuid: String, timestamp: String, session_id: String, summary: String, messages_compacted: usize },
    Tombstone { deleted_uuid: String, timestamp: String },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
#[allow(dead_code)]
struct Said {
    uuid: String,
    #[serde(default)]
    parent_uuid: Option<String>,
    timestamp: String,
    session_id: String,
    #[serde(default)]
    cwd: String,
    message: Message,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(default)]
    extra: serde_json::Map<String, serde_json::Value>,
}

#[derive(Deserialize)]
#[allow(dead_code)]
struct Message {
    role: String,
    content: Content,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    metadata: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
#[allow(dead_code)]
enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(dead_code)]
enum Block {
    Text { text: String },
    ToolUse { id: String, name: String, input: serde_json::Value },
    ToolResult {
        tool_use_id: String,
        content: Content,
        #[serde(default)]
        is_error: Option<bool>,
    },
    Thinking {
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    #[serde(other)]
    Other,
}

fn main() {
    let mut all = String::new();
    for path in env::args().skip(1) {
        all.push_str(&fs::read_to_string(path).expect("readable"));
    }
    let mut deleted = HashSet::new();
    for line in all.lines() {
        if let Ok(Entry::Tombstone { deleted_uuid, .. }) = serde_json::from_str(line) {
            deleted.insert(deleted_uuid);
        }
    }
    let mut entries = Vec::new();
    for line in all.lines() {
        let Ok(entry) = serde_json::from_str::<Entry>(line) else { continue };
        let gone = match &entry {
            Entry::User(said) | Entry::Assistant(said) | Entry::System(said) => deleted.contains(&said.uuid),
            Entry::Summary { uuid, .. } => deleted.contains(uuid),
            _ => false,
        };
        if !gone {
            entries.push(entry);
        }
    }
    println!("{}", entries.len());
}
