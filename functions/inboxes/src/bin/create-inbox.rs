#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    awo_http::serve(awo_inboxes_api::create_inbox::function).await
}
