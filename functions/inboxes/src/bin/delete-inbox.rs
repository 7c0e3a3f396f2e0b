#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    awo_http::serve(awo_inboxes_api::delete_inbox::function).await
}
