//! Files that decide what commands of PHP do.

use crate::toolchains::gates::{Gate, Parts};

pub(super) static ALL: [Gate; 3] = [
    Gate::Anywhere(&[
        "phpunit.xml",
        "phpunit.xml.dist",
        "phpunit.dist.xml",
        "Pest.php",
        "codeception.yml",
        "codeception.dist.yml",
        "behat.yml",
        "phpspec.yml",
        ".phpspec.yml",
        ".env.testing",
        ".php-version",
        "php.ini",
        // Programs and loaders of what is installed.
        "vendor/bin/",
        "vendor/autoload.php",
        "vendor/composer/",
        "vendor/phpunit/",
        "vendor/pestphp/",
    ]),
    Gate::Named(&[
        "phpstan.neon",
        "phpstan.neon.dist",
        "psalm.xml",
        "phpcs.xml",
    ]),
    Gate::Partly(
        &["composer.json"],
        Parts::Json(&[
            "scripts",
            "config",
            "autoload",
            "autoload-dev",
            "repositories",
            "include-path",
            "bin",
            "replace",
            "provide",
            "extra",
        ]),
    ),
];
