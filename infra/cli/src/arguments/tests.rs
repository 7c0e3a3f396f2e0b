use super::*;
use clap::CommandFactory;

#[test]
fn the_command_line_is_well_formed() {
    Arguments::command().debug_assert();
}

#[test]
fn a_command_takes_all_that_follows_it() {
    let typed = [
        "awo",
        "submit",
        "--repo",
        "r",
        "--prompt",
        "p",
        "--follow",
        "--command",
        "sh",
        "-c",
        "--json",
    ];
    let Command::Submit(order) = Arguments::try_parse_from(typed).unwrap().command else {
        panic!("not a submit");
    };
    assert!(order.follow);
    assert_eq!(order.command.unwrap(), ["sh", "-c", "--json"]);
}

#[test]
fn what_belongs_together_is_asked_for_together() {
    for bad in [
        vec!["--model", "m"],
        vec!["--tenant-user", "u"],
        vec!["--agent", "unknown"],
        vec!["--max-iterations", "0"],
        vec!["--max-credits", "0"],
        vec!["--command-json", "{}"],
    ] {
        let typed = ["awo", "submit", "--repo", "r", "--prompt", "p"];
        let typed = typed.iter().chain(&bad);
        assert!(Arguments::try_parse_from(typed).is_err(), "{bad:?}");
    }
}
