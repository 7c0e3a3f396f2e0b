//! Tests of the comparison of policies with calls: a removed permission is missing, an added one is
//! superfluous. `make test` makes the comparison itself, when all tests have recorded their calls.

use std::path::Path;

use awo_tests::privileges::{EXCUSES, Template, faults};

const TEMPLATE: &str = "
Resources:
  ReadThing:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: target/lambda/read-thing/
      Policies:
        - !Ref AuthenticateCallers
        - Statement:
            - Sid: Read
              Effect: Allow
              Action: [dynamodb:GetItem, dynamodb:Query]
              Resource: !GetAtt WorkTable.Arn
            - Sid: QueryByStatus
              Effect: Allow
              Action: dynamodb:Query
              Resource: !Sub '${WorkTable.Arn}/index/byStatus'
  StartThing:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: target/lambda/start-thing/
      Policies:
        - Statement:
            - Sid: Run
              Effect: Allow
              Action: ecs:RunTask
              Resource: !Sub arn:${AWS::Partition}:ecs:${AWS::Region}:${AWS::AccountId}:task-definition/${AWS::StackName}-runner:*
              Condition: {ArnEquals: {ecs:cluster: !GetAtt Cluster.Arn}}
            - Sid: WithItsRole
              Effect: Allow
              Action: iam:PassRole
              Resource: !GetAtt TaskRole.Arn
              Condition: {StringEquals: {iam:PassedToService: ecs-tasks.amazonaws.com}}
            - Sid: Hear
              Effect: Allow
              Action: [sqs:ReceiveMessage, sqs:DeleteMessage, sqs:GetQueueAttributes]
              Resource: !GetAtt RunQueue.Arn
  StartThingMapping:
    Type: AWS::Lambda::EventSourceMapping
    Properties: {EventSourceArn: !GetAtt RunQueue.Arn, FunctionName: !Ref StartThing}
  Task:
    Type: AWS::ECS::TaskDefinition
    Properties: {TaskRoleArn: !GetAtt TaskRole.Arn}
  AuthenticateCallers:
    Type: AWS::IAM::ManagedPolicy
    Properties:
      PolicyDocument:
        Statement:
          - Sid: CheckAndCount
            Effect: Allow
            Action: dynamodb:UpdateItem
            Resource: !GetAtt SettingsTable.Arn
            Condition:
              'ForAllValues:StringLike': {dynamodb:LeadingKeys: ['key#*']}
              'ForAllValues:StringEquals': {dynamodb:Attributes: [pk, count]}
";

const CALLS: &str = "read-thing\tdynamodb:UpdateItem\ttable/awo-settings\tkey#* count,pk
read-thing\tdynamodb:GetItem\ttable/awo-work\torg_*#wo
read-thing\tdynamodb:Query\ttable/work\torg_*#wo
read-thing\tdynamodb:Query\ttable/awo-work/index/byStatus\torg_*#wo#failed
start-thing\tecs:RunTask\ttask-definition/awo-runner\tawo
";

/// The faults after one change of the template, which has to be one.
fn after(from: &str, to: &str) -> Vec<String> {
    let changed = TEMPLATE.replacen(from, to, 1);
    assert_ne!(changed, TEMPLATE);
    faults(&Template::parse(&changed), CALLS, &[])
}

#[track_caller]
fn reports(faults: &[String], beginning: &str) {
    let [fault] = faults else {
        panic!("one fault: {faults:#?}");
    };
    assert!(fault.starts_with(beginning), "{fault}");
}

#[test]
fn policies_that_allow_what_is_called_and_no_more_have_no_fault() {
    let found = faults(&Template::parse(TEMPLATE), CALLS, &[]);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn what_is_taken_from_a_policy_is_missing() {
    reports(
        &after("[dynamodb:GetItem, dynamodb:Query]", "dynamodb:Query"),
        "read-thing: missing: dynamodb:GetItem on WorkTable, dynamodb:LeadingKeys org_*#wo",
    );
    let read = "Resource: !Sub '${WorkTable.Arn}/index/byStatus'";
    reports(
        &after(read, "Resource: !GetAtt WorkTable.Arn"),
        "read-thing: missing: dynamodb:Query on WorkTable/index/byStatus, ",
    );
    reports(
        &after("runner:*", "builder:*")[..1],
        "start-thing: missing: ecs:RunTask on arn:Partition:ecs:Region:AccountId:task-definition/awo-runner:1",
    );
}

#[test]
fn attributes_are_held_to_those_that_calls_name() {
    reports(
        &after("[pk, count]", "[pk]")[..1],
        "read-thing: missing: dynamodb:UpdateItem on SettingsTable, dynamodb:LeadingKeys key#*",
    );
    reports(
        &after("[pk, count]", "[pk, count, scopes]"),
        "read-thing: extra: AuthenticateCallers's CheckAndCount allows the attribute scopes, ",
    );
}

#[test]
fn what_lambda_and_ecs_ask_for_with_a_functions_role_is_missed_too() {
    reports(
        &after("sqs:DeleteMessage, ", ""),
        "start-thing: missing: sqs:DeleteMessage on RunQueue",
    );
    reports(
        &after("ecs-tasks.amazonaws.com", "lambda.amazonaws.com")[..1],
        "start-thing: missing: iam:PassRole on TaskRole, iam:PassedToService ecs-tasks",
    );
}

#[test]
fn what_is_added_to_a_policy_is_extra() {
    reports(
        &after("[dynamodb:GetItem,", "[dynamodb:GetItem, dynamodb:PutItem,"),
        "read-thing: extra: dynamodb:PutItem on WorkTable (ReadThing's Read allows it",
    );
    reports(
        &after("['key#*']", "['key#*', 'org_*#key']"),
        "read-thing: extra: dynamodb:UpdateItem on SettingsTable, dynamodb:LeadingKeys org_*#key",
    );
}

#[test]
fn a_policy_that_is_attached_to_a_functions_role_counts_as_its_own() {
    let attached = "
  WriteThings:
    Type: AWS::IAM::Policy
    Properties:
      Roles: [!Ref ReadThingRole]
      PolicyDocument:
        Statement:
          - {Sid: Write, Effect: Allow, Action: dynamodb:PutItem, Resource: !GetAtt WorkTable.Arn}
";
    let template = Template::parse(&format!("{TEMPLATE}{attached}"));
    reports(
        &faults(&template, CALLS, &[]),
        "read-thing: extra: dynamodb:PutItem on WorkTable (WriteThings's Write allows it",
    );
    let of_another = attached.replace("ReadThingRole", "OtherRole");
    let template = Template::parse(&format!("{TEMPLATE}{of_another}"));
    let found = faults(&template, CALLS, &[]);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_pattern_that_is_wider_than_its_calls_is_extra() {
    reports(
        &after("['key#*']", "['k*']"),
        "read-thing: extra: AuthenticateCallers's CheckAndCount allows keys as k*, ",
    );
    reports(
        &after("index/byStatus'", "index/*'"),
        "read-thing: ReadThing's QueryByStatus: WorkTable/index/* is several resources",
    );
}

#[test]
fn an_excuse_is_for_what_no_test_shows_and_has_to_be_needed() {
    let excuse = ("read-thing", "dynamodb:PutItem", "WorkTable", "a test");
    let wider = TEMPLATE.replacen(
        "[dynamodb:GetItem,",
        "[dynamodb:GetItem, dynamodb:PutItem,",
        1,
    );
    let found = faults(&Template::parse(&wider), CALLS, &[excuse]);
    assert!(found.is_empty(), "{found:#?}");
    reports(
        &faults(&Template::parse(TEMPLATE), CALLS, &[excuse]),
        "read-thing: dynamodb:PutItem on WorkTable is excused and allowed nowhere",
    );
}

#[test]
fn what_is_not_understood_allows_nothing() {
    reports(
        &after("ForAllValues:StringLike", "StringNotLike")[..1],
        "AuthenticateCallers's CheckAndCount: StringNotLike of dynamodb:LeadingKeys is not understood",
    );
    reports(
        &after("Effect: Allow", "Effect: Deny")[..1],
        "ReadThing's Read: only plain Allow statements are understood",
    );
}

#[test]
fn the_deployments_policies_are_understood_and_no_call_is_no_proof() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../template.yaml");
    let template = Template::parse(&std::fs::read_to_string(path).unwrap());
    assert!(template.faults.is_empty(), "{:#?}", template.faults);
    let found = faults(&template, "", EXCUSES);
    assert!(found[0].starts_with("no call of a function was noted"));
    let pieces = template.functions.iter().flat_map(|f| &f.grants).count();
    let extra = found.iter().filter(|fault| fault.contains(": extra: "));
    assert!(extra.count() > pieces / 2, "{found:#?}");
}
