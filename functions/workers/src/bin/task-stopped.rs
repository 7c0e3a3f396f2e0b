#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    awo_workers::serve(awo_workers::task_stopped::function).await
}
