use awo_workers::deliver::{handle, state};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    awo_workers::serve(state, handle).await
}
