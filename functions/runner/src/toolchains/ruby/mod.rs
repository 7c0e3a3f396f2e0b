//! Ruby.

mod gates;
mod runners;

use super::Toolchain;
use super::tree::Folder;
use super::unit::Unit;

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "Ruby",
    runners: &runners::ALL,
    manifests: &["Gemfile", "gems.rb", "*.gemspec", "Rakefile"],
    unit,
    tests_alone: Some(unit_by),
    test_files: &["*_spec.rb", "*_test.rb", "test_*.rb"],
    gates: &gates::ALL,
    programs: &[
        ("ruby", "install Ruby"),
        ("bundle", "install Bundler (`gem install bundler`)"),
        ("rake", "install Rake (`gem install rake`)"),
        (
            "rspec",
            "install RSpec (`gem install rspec`), or name it in a Gemfile",
        ),
    ],
    caches: &[],
    registry: None,
    example: "bundle exec rspec",
};

/// Gems are installed outside of the checkout.
const GEMS: &str = "BUNDLE_PATH=~/gems";

fn unit(folder: &Folder<'_>) -> Option<Unit> {
    let gemfile = folder.first(&["Gemfile", "gems.rb"]);
    let is_other = |name: &&str| *name == "Rakefile" || name.ends_with(".gemspec");
    let by = gemfile.map(str::to_owned);
    let by = by.or_else(|| folder.names().find(is_other).map(str::to_owned))?;
    unit_by(folder, &by)
}

fn unit_by(folder: &Folder<'_>, by: &str) -> Option<Unit> {
    let gemfile = folder.first(&["Gemfile", "gems.rb"]);
    let mut unit = Unit::new(by, if gemfile.is_some() { "bundler" } else { "ruby" });
    let exec = if gemfile.is_some() {
        let is_locked = folder.first(&["Gemfile.lock", "gems.locked"]).is_some();
        let frozen = if is_locked { "BUNDLE_FROZEN=true " } else { "" };
        unit = unit.needs("bundle");
        unit.install = Some(format!("{GEMS} {frozen}bundle install"));
        format!("{GEMS} bundle exec ")
    } else {
        unit = unit.needs("ruby");
        String::new()
    };
    let ends = |end: &str| folder.files().any(|file| file.ends_with(end));
    let rakefile = folder.text("Rakefile").unwrap_or_default();
    let signs = [
        "TestTask",
        "task :test",
        "task test",
        "task \"test\"",
        "Minitest::TestTask",
    ];
    let has_rake_test = signs.iter().any(|sign| rakefile.contains(sign));
    let bare = |unit: Unit, program: &str| {
        if gemfile.is_some() {
            unit
        } else {
            unit.needs(program)
        }
    };
    Some(if folder.has(".rspec") || ends("_spec.rb") {
        bare(unit, "rspec").tested_by("rspec", &format!("{exec}rspec"))
    } else if folder.has("bin/rails") && ends("_test.rb") {
        unit.tested_by("rails test", &format!("{GEMS} ruby bin/rails test"))
    } else if has_rake_test {
        bare(unit, "rake").tested_by("rake test", &format!("{exec}rake test"))
    } else if ends("_test.rb") || folder.files().any(|file| file.starts_with("test/test_")) {
        let load = "Dir['./test/**/{test_*,*_test}.rb'].each { |f| require f }";
        unit.tested_by(
            "minitest",
            &format!("{exec}ruby -Ilib -Itest -e \"{load}\""),
        )
    } else {
        unit
    })
}
