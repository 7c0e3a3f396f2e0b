use awo_local::sqs::NewMessage;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::{QueueAttributeName, SendMessageBatchRequestEntry};

use crate::cloud::Sqs;

/// The code that the SDK reports.
fn code<T: std::fmt::Debug, E: ProvideErrorMetadata, R>(answer: Result<T, SdkError<E, R>>) -> String
where
    SdkError<E, R>: ProvideErrorMetadata,
{
    answer.err().unwrap().code().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn sending_has_the_limits_of_sqs() {
    let sqs = Sqs::start().await;
    let url = sqs.queue("work", &[]).await;
    let send = |body: &str| sqs.client.send_message().queue_url(&url).message_body(body);
    send("x").delay_seconds(900).send().await.unwrap();
    assert_eq!(
        code(send("x").delay_seconds(901).send().await),
        "InvalidParameterValue"
    );
    assert_eq!(
        code(send("x").delay_seconds(-1).send().await),
        "InvalidParameterValue"
    );
    let mebibyte = "x".repeat(1024 * 1024);
    send(&mebibyte).send().await.unwrap();
    assert_eq!(
        code(send(&format!("{mebibyte}x")).send().await),
        "InvalidParameterValue"
    );
    assert_eq!(
        code(send("wake_up \u{7}").send().await),
        "InvalidMessageContents"
    );
    assert_eq!(code(send("").send().await), "MissingParameter");
    send("fair")
        .message_group_id("tenant")
        .send()
        .await
        .unwrap();
    let missing = sqs
        .client
        .send_message()
        .queue_url(format!("{url}x"))
        .message_body("x");
    let missing = missing.send().await.unwrap_err();
    assert_eq!(
        missing.code(),
        Some("AWS.SimpleQueueService.NonExistentQueue")
    );
    assert!(missing.into_service_error().is_queue_does_not_exist());
}

#[tokio::test]
async fn receiving_has_the_limits_of_sqs() {
    let sqs = Sqs::start().await;
    let url = sqs.queue("work", &[]).await;
    let receive = || sqs.client.receive_message().queue_url(&url);
    for (messages, wait, visibility) in [(0, 0, 0), (11, 0, 0), (1, 21, 0), (1, 0, 43_201)] {
        let answer = receive()
            .max_number_of_messages(messages)
            .wait_time_seconds(wait)
            .visibility_timeout(visibility)
            .send()
            .await;
        assert_eq!(code(answer), "InvalidParameterValue");
    }
    (0..12).for_each(|_| drop(sqs.queues.send("work", NewMessage::text("x")).unwrap()));
    let ten = receive()
        .max_number_of_messages(10)
        .visibility_timeout(43_200)
        .send()
        .await
        .unwrap();
    assert_eq!(ten.messages().len(), 10);
}

#[tokio::test]
async fn receipts_have_the_limits_of_sqs() {
    let sqs = Sqs::start().await;
    let url = sqs.queue("work", &[]).await;
    sqs.queue("other", &[]).await;
    sqs.queues.send("work", NewMessage::text("x")).unwrap();
    let received = sqs
        .client
        .receive_message()
        .queue_url(&url)
        .send()
        .await
        .unwrap();
    let handle = received.messages()[0].receipt_handle().unwrap();
    let change = |handle: &str, seconds| {
        let change = sqs.client.change_message_visibility().queue_url(&url);
        change
            .receipt_handle(handle)
            .visibility_timeout(seconds)
            .send()
    };
    assert_eq!(code(change(handle, 43_201).await), "InvalidParameterValue");
    change(handle, 43_200).await.unwrap();
    assert!(
        change("nonsense", 1)
            .await
            .unwrap_err()
            .into_service_error()
            .is_receipt_handle_is_invalid()
    );
    change(handle, 0).await.unwrap();
    assert!(
        change(handle, 1)
            .await
            .unwrap_err()
            .into_service_error()
            .is_message_not_inflight()
    );
    let delete = |queue: String, handle: &str| {
        sqs.client
            .delete_message()
            .queue_url(queue)
            .receipt_handle(handle)
            .send()
    };
    let nonsense = delete(url.clone(), "nonsense").await.unwrap_err();
    assert!(nonsense.into_service_error().is_receipt_handle_is_invalid());
    let other = delete(url.replace("work", "other"), handle)
        .await
        .unwrap_err();
    assert!(other.into_service_error().is_receipt_handle_is_invalid());
}

#[tokio::test]
async fn batches_have_the_limits_of_sqs() {
    let sqs = Sqs::start().await;
    let url = sqs.queue("work", &[]).await;
    let send = |ids: &[&str], body: &str| {
        let entries = ids.iter().map(|id| {
            SendMessageBatchRequestEntry::builder()
                .id(*id)
                .message_body(body)
                .build()
                .unwrap()
        });
        let batch = sqs.client.send_message_batch().queue_url(&url);
        batch.set_entries(Some(entries.collect())).send()
    };
    let eleven = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
    let prefix = "AWS.SimpleQueueService";
    for (ids, body, expected) in [
        (&[][..], "x", "EmptyBatchRequest"),
        (&eleven[..], "x", "TooManyEntriesInBatchRequest"),
        (&["a", "a"][..], "x", "BatchEntryIdsNotDistinct"),
        (&["a b"][..], "x", "InvalidBatchEntryId"),
        (&["a", "b"][..], &"x".repeat(600_000), "BatchRequestTooLong"),
    ] {
        assert_eq!(code(send(ids, body).await), format!("{prefix}.{expected}"));
    }
    assert_eq!(sqs.queues.counts("work").unwrap().ready, 0);
}

#[tokio::test]
async fn attributes_have_the_limits_of_sqs() {
    let sqs = Sqs::start().await;
    let stranger =
        r#"{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:no","maxReceiveCount":3}"#;
    for (name, value, expected) in [
        (
            QueueAttributeName::VisibilityTimeout,
            "43201",
            "InvalidAttributeValue",
        ),
        (
            QueueAttributeName::DelaySeconds,
            "901",
            "InvalidAttributeValue",
        ),
        (
            QueueAttributeName::MaximumMessageSize,
            "1048577",
            "InvalidAttributeValue",
        ),
        (
            QueueAttributeName::RedrivePolicy,
            "{}",
            "InvalidAttributeValue",
        ),
        (
            QueueAttributeName::RedrivePolicy,
            stranger,
            "InvalidParameterValue",
        ),
        (
            QueueAttributeName::from("Nonsense"),
            "1",
            "InvalidAttributeName",
        ),
    ] {
        let create = sqs
            .client
            .create_queue()
            .queue_name("work")
            .attributes(name.clone(), value);
        assert_eq!(code(create.send().await), expected, "{name}");
    }
}
