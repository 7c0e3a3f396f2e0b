//! The cloud template's properties for an account: it fits a new one, takes nothing from others,
//! has a known cost, and can be upgraded.

use awo_workers::sweep::{Part, Tick};
use serde_json::{Value, json};

use crate::template::template;

fn default_of(parameter: &str) -> Value {
    template()["Parameters"][parameter]["Default"].clone()
}

fn properties_of(resource: &str) -> Value {
    template()["Resources"][resource]["Properties"].clone()
}

#[test]
fn a_new_account_can_hold_what_the_template_has_by_default() {
    let tasks = default_of("MaxTasks").as_u64().unwrap();
    let cpu = default_of("RunnerCpu").as_u64().unwrap();
    // The least that was seen of Fargate's first quotas, in CPU units; the cleaner needs 256.
    assert!(tasks * cpu + 256 <= 4 * 1_024, "{tasks} tasks of {cpu}");
    // Lambda leaves 100 to functions without a reservation, and may grant 10 in all.
    assert_eq!(default_of("StreamConcurrency"), 0);
    assert_eq!(default_of("ControlConcurrency"), 0);
}

#[test]
fn each_part_of_the_sweep_has_an_invocation_of_its_own_every_minute() {
    let mut parts = Vec::new();
    for rule in ["SweepItems", "SweepRest", "SweepInboxes"] {
        let rule = properties_of(rule);
        assert_eq!(rule["ScheduleExpression"], "rate(1 minute)");
        let targets = rule["Targets"].as_array().unwrap().clone();
        assert!(targets.len() <= 5, "EventBridge takes no more");
        for target in &targets {
            assert!(target["Arn"].to_string().contains("Sweep"), "{target}");
            let tick: Tick = serde_json::from_str(target["Input"].as_str().unwrap()).unwrap();
            parts.push(tick.part.expect("a part"));
        }
    }
    let covered = |parts: &[Part]| Part::covered(parts);
    assert_eq!(covered(&parts), covered(&Part::ALL));
    let each: usize = parts.iter().map(|part| covered(&[*part]).len()).sum();
    assert_eq!(each, covered(&parts).len(), "no part twice");
}

#[test]
fn the_first_stack_of_an_account_needs_no_role_of_ecs_and_replaces_no_role_of_api_gateway() {
    assert_eq!(properties_of("Cluster")["CapacityProviders"], Value::Null);
    assert_eq!(default_of("ApiLogRole"), "Existing");
    assert_eq!(
        template()["Resources"]["ApiAccount"]["Condition"],
        "MakesApiLogRole"
    );
    let makes = &template()["Conditions"]["MakesApiLogRole"];
    assert_eq!(makes, &json!(["ApiLogRole", "Create"]));
}

#[test]
fn live_streams_are_capped_and_the_calls_of_runners_guaranteed_where_the_account_can_reserve() {
    for (function, condition, parameter) in [
        ("ListRunEvents", "CapsStreams", "StreamConcurrency"),
        ("Control", "GuaranteesControl", "ControlConcurrency"),
    ] {
        let reserved = properties_of(function)["ReservedConcurrentExecutions"].clone();
        assert_eq!(reserved, json!([condition, parameter, "AWS::NoValue"]));
        // Not at 0, which would let the function run not at all.
        let condition = template()["Conditions"][condition].clone();
        assert_eq!(condition, json!([[parameter, 0]]));
    }
}

#[test]
fn without_nat_gateways_an_idle_deployment_costs_less_than_12_dollars_a_month() {
    let template = template();
    let resources = template["Resources"].as_object().unwrap();
    let of = |kind: &'static str| resources.values().filter(move |r| r["Type"] == kind);
    for kind in ["AWS::EC2::NatGateway", "AWS::EC2::EIP"] {
        for gateway in of(kind) {
            let condition = gateway["Condition"].as_str().unwrap();
            assert!(["MakesNat", "MakesNatPerZone"].contains(&condition));
        }
    }
    // Endpoints of the other kind cost by the hour.
    assert!(of("AWS::EC2::VPCEndpoint").all(|e| e["Properties"]["VpcEndpointType"] == Value::Null));
    let alarmed = of("AWS::CloudWatch::Alarm").map(|alarm| {
        let metrics = alarm["Properties"]["Metrics"].as_array();
        metrics.map_or(1, |metrics| metrics.len() - 1)
    });
    // One that has no value while nothing is logged costs nothing then; sweeps are logged each minute.
    let metrics = of("AWS::Logs::MetricFilter").filter(|filter| {
        let of = &filter["Properties"]["MetricTransformations"][0];
        of["DefaultValue"] != Value::Null
            || filter["Properties"]["FilterPattern"]
                .to_string()
                .contains("swept")
    });
    let cents = alarmed.sum::<usize>() * 10
        + metrics.count() * 30
        + of("AWS::CloudWatch::Dashboard").count() * 300;
    // Queues being listened to, the sweep, the image.
    let cents = cents + 90;
    assert!(cents < 1_200, "{cents} cents a month");
}

#[test]
fn encryption_costs_nothing_unless_a_key_is_named() {
    let template = template();
    for (name, table) in template["Resources"].as_object().unwrap() {
        if table["Type"] == "AWS::DynamoDB::Table" {
            let [condition, with, without] =
                &table["Properties"]["SSESpecification"].as_array().unwrap()[..]
            else {
                panic!("{name}");
            };
            assert_eq!(condition, "HasKey", "{name}");
            assert_eq!(with["KMSMasterKeyId"], "KmsKeyArn", "{name}");
            assert_eq!(without, &json!({"SSEEnabled": false}), "{name}");
        }
    }
    assert_eq!(default_of("KmsKeyArn"), "");
}

#[test]
fn an_update_shifts_traffic_as_the_deployment_says_and_goes_back_on_an_alarm() {
    let template = template();
    for function in ["Control", "CreateWorkOrder", "DispatchRuns"] {
        let of = properties_of(function);
        assert_eq!(of["AutoPublishAlias"], "live", "{function}");
        // Else a parameter's new value would reach no call.
        assert_eq!(of["AutoPublishAliasAllProperties"], true, "{function}");
        let shift = &of["DeploymentPreference"];
        assert_eq!(shift["Type"], "ShiftTraffic", "{function}");
        assert_eq!(shift["Alarms"][0], "WatchesDeployments", "{function}");
        assert_eq!(shift["Alarms"][2], json!([]), "{function}");
        let alarms = shift["Alarms"][1].as_array().unwrap();
        assert!(!alarms.is_empty(), "{function}");
        for alarm in alarms {
            let kind = &template["Resources"][alarm.as_str().unwrap()]["Type"];
            assert_eq!(kind, "AWS::CloudWatch::Alarm", "{function}");
        }
    }
    assert_eq!(default_of("ShiftTraffic"), "AllAtOnce");
    assert_eq!(default_of("DeployAlarms"), "On");
    // Its messages reach the version that the alias leads to, not what was uploaded last.
    let mapping = properties_of("DispatchRunsMapping");
    assert_eq!(mapping["FunctionName"], "DispatchRuns.Alias");
}
