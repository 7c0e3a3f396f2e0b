#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    awo_http::serve(awo_audit::get_work_order_audit::function).await
}
