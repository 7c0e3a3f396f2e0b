use awo_local::sqs::{NewMessage, QueueAttributes, Receive, queue_url};
use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::types::{
    DeleteMessageBatchRequestEntry, MessageAttributeValue, MessageSystemAttributeName,
    QueueAttributeName, SendMessageBatchRequestEntry,
};

use crate::cloud::{Sqs, http_client, sqs_client};

#[tokio::test]
async fn a_message_arrives_as_it_was_sent() {
    let sqs = Sqs::start().await;
    let url = sqs.queue("work", &[]).await;
    let attribute = MessageAttributeValue::builder()
        .data_type("String")
        .string_value("value")
        .build()
        .unwrap();
    let sent = sqs
        .client
        .send_message()
        .queue_url(&url)
        .message_body("Hello from SQS!")
        .message_attributes("name", attribute)
        .message_group_id("tenant")
        .send()
        .await
        .unwrap();
    assert_eq!(
        sent.md5_of_message_body(),
        Some("7b270e59b47ff90a553787216d55d91d")
    );
    let received = sqs
        .client
        .receive_message()
        .queue_url(&url)
        .message_system_attribute_names(MessageSystemAttributeName::All)
        .message_attribute_names("All")
        .send()
        .await
        .unwrap();
    let message = &received.messages()[0];
    assert_eq!(message.message_id, sent.message_id);
    assert_eq!(message.body(), Some("Hello from SQS!"));
    assert_eq!(
        message.md5_of_message_attributes,
        sent.md5_of_message_attributes
    );
    assert_eq!(
        message.message_attributes.as_ref().unwrap()["name"].string_value(),
        Some("value")
    );
    let attributes = message.attributes.as_ref().unwrap();
    assert_eq!(
        attributes[&MessageSystemAttributeName::ApproximateReceiveCount],
        "1"
    );
    assert_eq!(
        attributes[&MessageSystemAttributeName::MessageGroupId],
        "tenant"
    );
    assert!(
        attributes[&MessageSystemAttributeName::SentTimestamp]
            .parse::<u64>()
            .unwrap()
            > 0
    );
}

#[tokio::test]
async fn attributes_say_where_the_messages_are() {
    let sqs = Sqs::start().await;
    let url = sqs.queue("work", &[("VisibilityTimeout", "60")]).await;
    for delay in [0, 0, 0, 900] {
        let send = sqs.client.send_message().queue_url(&url).message_body("x");
        send.delay_seconds(delay).send().await.unwrap();
    }
    sqs.client
        .receive_message()
        .queue_url(&url)
        .send()
        .await
        .unwrap();
    let attributes = sqs
        .client
        .get_queue_attributes()
        .queue_url(&url)
        .attribute_names(QueueAttributeName::All)
        .send()
        .await
        .unwrap()
        .attributes
        .unwrap();
    for (name, value) in [
        (QueueAttributeName::ApproximateNumberOfMessages, "2"),
        (
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
            "1",
        ),
        (QueueAttributeName::ApproximateNumberOfMessagesDelayed, "1"),
        (QueueAttributeName::VisibilityTimeout, "60"),
        (
            QueueAttributeName::QueueArn,
            "arn:aws:sqs:us-east-1:000000000000:work",
        ),
    ] {
        assert_eq!(attributes[&name], value, "{name}");
    }
    sqs.client
        .purge_queue()
        .queue_url(&url)
        .send()
        .await
        .unwrap();
    let counts = sqs.queues.counts("work").unwrap();
    assert_eq!((counts.ready, counts.in_flight, counts.delayed), (0, 0, 0));
}

#[tokio::test]
async fn a_queue_is_found_by_its_name() {
    let sqs = Sqs::start().await;
    let url = sqs.queue("work", &[]).await;
    assert_eq!(url, queue_url(&sqs.endpoint, "work"));
    let found = sqs
        .client
        .get_queue_url()
        .queue_name("work")
        .send()
        .await
        .unwrap();
    assert_eq!(found.queue_url, Some(url.clone()));
    // Made again as it is, it is the same queue; with other attributes the name is taken.
    assert_eq!(sqs.queue("work", &[]).await, url);
    let other = sqs.client.create_queue().queue_name("work");
    let other = other
        .attributes(QueueAttributeName::DelaySeconds, "5")
        .send()
        .await;
    assert!(
        other
            .unwrap_err()
            .into_service_error()
            .is_queue_name_exists()
    );
}

#[tokio::test]
async fn only_the_latest_receipt_deletes() {
    let sqs = Sqs::start().await;
    let url = sqs.queue("work", &[("VisibilityTimeout", "0")]).await;
    sqs.queues.send("work", NewMessage::text("x")).unwrap();
    let receive = || sqs.client.receive_message().queue_url(&url).send();
    let old = receive()
        .await
        .unwrap()
        .messages
        .unwrap()
        .remove(0)
        .receipt_handle
        .unwrap();
    let new = receive()
        .await
        .unwrap()
        .messages
        .unwrap()
        .remove(0)
        .receipt_handle
        .unwrap();
    let delete = |handle: String| {
        sqs.client
            .delete_message()
            .queue_url(&url)
            .receipt_handle(handle)
            .send()
    };
    delete(old).await.unwrap();
    assert_eq!(sqs.queues.counts("work").unwrap().ready, 1);
    delete(new.clone()).await.unwrap();
    delete(new).await.unwrap();
    assert_eq!(sqs.queues.counts("work").unwrap().ready, 0);
}

#[tokio::test]
async fn a_message_received_too_often_becomes_a_dead_letter() {
    let sqs = Sqs::start().await;
    let dead_url = sqs.queue("dead", &[]).await;
    // Some tools write the count as a string.
    let policy = r#"{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":"2"}"#;
    let attributes = [("RedrivePolicy", policy), ("VisibilityTimeout", "0")];
    let url = sqs.queue("work", &attributes).await;
    let sent = sqs.queues.send("work", NewMessage::text("poison")).unwrap();
    for expected in [1, 1, 0] {
        let received = sqs
            .client
            .receive_message()
            .queue_url(&url)
            .send()
            .await
            .unwrap();
        assert_eq!(received.messages().len(), expected);
    }
    let dead = sqs
        .client
        .receive_message()
        .queue_url(&dead_url)
        .message_system_attribute_names(MessageSystemAttributeName::All)
        .send()
        .await
        .unwrap();
    let dead = &dead.messages()[0];
    assert_eq!(dead.message_id(), Some(sent.id.as_str()));
    let source =
        &dead.attributes.as_ref().unwrap()[&MessageSystemAttributeName::DeadLetterQueueSourceArn];
    assert_eq!(source, "arn:aws:sqs:us-east-1:000000000000:work");
}

#[tokio::test]
async fn each_entry_of_a_batch_stands_or_falls_alone() {
    let sqs = Sqs::start().await;
    let url = sqs.queue("work", &[]).await;
    let entry = |id: &str, delay: i32| {
        let entry = SendMessageBatchRequestEntry::builder()
            .id(id)
            .message_body(id);
        entry.delay_seconds(delay).build().unwrap()
    };
    let batch = sqs.client.send_message_batch().queue_url(&url);
    let sent = batch
        .entries(entry("good", 0))
        .entries(entry("bad", 901))
        .send()
        .await
        .unwrap();
    assert_eq!(sent.successful()[0].id(), "good");
    assert_eq!(sent.failed()[0].id(), "bad");
    assert_eq!(sent.failed()[0].code(), "InvalidParameterValue");
    let received = sqs
        .client
        .receive_message()
        .queue_url(&url)
        .send()
        .await
        .unwrap();
    let handle = received.messages()[0].receipt_handle().unwrap();
    let entry = |id: &str, handle: &str| {
        DeleteMessageBatchRequestEntry::builder()
            .id(id)
            .receipt_handle(handle)
            .build()
            .unwrap()
    };
    let batch = sqs.client.delete_message_batch().queue_url(&url);
    let deleted = batch
        .entries(entry("a", handle))
        .entries(entry("b", "nonsense"))
        .send()
        .await
        .unwrap();
    assert_eq!(deleted.successful()[0].id(), "a");
    assert_eq!(deleted.failed()[0].code(), "ReceiptHandleIsInvalid");
}

#[tokio::test]
async fn a_busy_group_lets_the_others_pass() {
    let sqs = Sqs::start().await;
    sqs.queues
        .create("work", QueueAttributes::default())
        .unwrap();
    let send = |group: &str, body: &str| {
        let group_id = Some(group.to_owned());
        let message = NewMessage {
            group_id,
            ..NewMessage::text(body)
        };
        sqs.queues.send("work", message).unwrap();
    };
    (0..20).for_each(|_| send("noisy", "noise"));
    send("quiet", "word");
    let receive = Receive {
        messages: 1,
        bytes: usize::MAX,
        wait: None,
        visibility: None,
    };
    let first = sqs.queues.receive("work", receive).await.unwrap();
    let second = sqs.queues.receive("work", receive).await.unwrap();
    assert_eq!(first[0].message.body, "noise");
    assert_eq!(second[0].message.body, "word");
}

#[tokio::test]
async fn strangers_are_refused() {
    let sqs = Sqs::start().await;
    let stranger = sqs_client(&sqs.endpoint, "AKIASTRANGER");
    let refused = stranger
        .create_queue()
        .queue_name("work")
        .send()
        .await
        .unwrap_err();
    assert_eq!(refused.raw_response().unwrap().status().as_u16(), 403);
    assert_eq!(refused.code(), Some("UnrecognizedClientException"));
    assert!(sqs.queues.exists("work").is_err());
    let unsigned = http_client().post(&sqs.endpoint);
    let unsigned = unsigned
        .header("x-amz-target", "AmazonSQS.ListQueues")
        .send()
        .await
        .unwrap();
    assert_eq!(unsigned.status(), 403);
}
