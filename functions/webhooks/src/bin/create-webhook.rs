#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    awo_http::serve(awo_webhooks_api::create_webhook::function).await
}
