#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    awo_http::serve(awo_environments::set_environment_secret::function).await
}
