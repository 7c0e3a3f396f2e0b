//! The baseline for measurements of the product's functions: the SDK as in its guide, and a handler
//! that reads two items. It checks no key, has no logs and no rules.

use std::sync::Arc;

use aws_config::BehaviorVersion;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use lambda_http::{Error, Request, RequestExt, service_fn};
use serde_json::{Value, json};

/// Where the items are.
struct Reader {
    client: Client,
    table: String,
    partition: String,
}

impl Reader {
    /// The names and values of an item's texts.
    async fn read(&self, sort: &str) -> Result<Value, Error> {
        let key = |value: &str| AttributeValue::S(value.to_owned());
        let read = self.client.get_item().table_name(&self.table);
        let read = read.key("pk", key(&self.partition)).key("sk", key(sort));
        let item = read.consistent_read(true).send().await?.item;
        let texts = item.into_iter().flatten().filter_map(|(name, value)| {
            let text = value.as_s().ok()?;
            Some((name, Value::from(text.clone())))
        });
        Ok(Value::Object(texts.collect()))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let tls = Provider::Rustls(CryptoMode::Ring);
    let http = Builder::new().tls_provider(tls).build_https();
    let sdk = aws_config::defaults(BehaviorVersion::latest()).http_client(http);
    let reader = Arc::new(Reader {
        client: Client::new(&sdk.load().await),
        table: std::env::var("AWO_WORK_TABLE")?,
        partition: std::env::var("BARE_PARTITION")?,
    });
    let handle = move |request: Request| {
        let reader = Arc::clone(&reader);
        async move {
            let id = request.path_parameters().first("id").map(str::to_owned);
            let id = id.unwrap_or_default();
            reader.read(&id).await?;
            let found = reader.read(&id).await?;
            Ok::<_, Error>(json!({ "found": found }).to_string())
        }
    };
    lambda_http::run(service_fn(handle)).await
}
