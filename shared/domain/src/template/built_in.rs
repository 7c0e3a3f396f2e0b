//! The templates that every organization has.

use super::{Hooks, SourceKind, Template, TemplateContent, TemplateId, TemplateSource, Variable};
use crate::Timestamp;

/// 2026-11-20T00:00:00.000Z
const MADE_AT_MS: i64 = 1_795_132_800_000;

/// What is written down of one.
struct Outline {
    id: &'static str,
    name: &'static str,
    description: &'static str,
    repository: &'static str,
    /// Those of the source; `branch` comes with each.
    variables: &'static [(&'static str, &'static str)],
    /// With their defaults.
    options: &'static [(&'static str, &'static str, &'static str)],
    post_create: &'static [&'static str],
    tags: &'static [&'static str],
}

const ANY: &str = "{{repository}}";
const URL: (&str, &str) = ("repository", "https:// URL of the repository");
const DIRECTORY: (&str, &str, &str) = ("directory", "Folder of the project in the repository", ".");

/// Files that hooks install into the workspace are ignored by git, also where the repository has
/// forgotten to: they must not become part of the result.
const OUTLINES: [Outline; 7] = [
    Outline {
        id: "git",
        name: "Git repository",
        description: "Any git repository that can be cloned over https.",
        repository: ANY,
        variables: &[URL],
        options: &[],
        post_create: &[],
        tags: &["git"],
    },
    Outline {
        id: "github",
        name: "GitHub repository",
        description: "A repository on github.com.",
        repository: "https://github.com/{{owner}}/{{repository}}.git",
        variables: &[
            ("owner", "User or organization that owns the repository"),
            ("repository", "Name of the repository"),
        ],
        options: &[],
        post_create: &[],
        tags: &["git", "github"],
    },
    Outline {
        id: "gitlab",
        name: "GitLab project",
        description: "A project on a GitLab server, gitlab.com by default.",
        repository: "https://{{host}}/{{project}}.git",
        variables: &[(
            "project",
            "Path of the project, such as group/subgroup/name",
        )],
        options: &[("host", "Name of the server", "gitlab.com")],
        post_create: &[],
        tags: &["git", "gitlab"],
    },
    Outline {
        id: "node-npm",
        name: "Node.js project with npm",
        description: "Clones a repository and installs its npm packages, those of the lock file \
                      where there is one.",
        repository: ANY,
        variables: &[URL],
        options: &[DIRECTORY],
        post_create: &[
            "cd {{directory}} && if [ -f package-lock.json ]; then npm ci --no-audit --no-fund; \
             else npm install --no-package-lock --no-audit --no-fund; fi && mkdir -p node_modules \
             && echo '*' > node_modules/.gitignore",
        ],
        tags: &["node", "npm", "javascript", "typescript"],
    },
    Outline {
        id: "python-pip",
        name: "Python project with pip",
        description: "Clones a repository, creates a virtual environment in .venv and installs a \
                      requirements file, or the project itself where there is none.",
        repository: ANY,
        variables: &[URL],
        options: &[
            DIRECTORY,
            ("requirements", "Requirements file", "requirements.txt"),
        ],
        post_create: &[
            "cd {{directory}} && python3 -m venv .venv && echo '*' > .venv/.gitignore && if [ -f \
             {{requirements}} ]; then .venv/bin/pip install --quiet -r {{requirements}}; elif [ -f \
             pyproject.toml ]; then .venv/bin/pip install --quiet -e .; fi",
        ],
        tags: &["python", "pip"],
    },
    Outline {
        id: "rust-cargo",
        name: "Rust project with Cargo",
        description: "Clones a repository and fetches the crates that it depends on.",
        repository: ANY,
        variables: &[URL],
        options: &[DIRECTORY],
        post_create: &[
            "cd {{directory}} && if [ -f Cargo.lock ]; then cargo fetch --locked; else cargo fetch; fi",
        ],
        tags: &["rust", "cargo"],
    },
    Outline {
        id: "go-modules",
        name: "Go module",
        description: "Clones a repository and downloads the modules that it depends on.",
        repository: ANY,
        variables: &[URL],
        options: &[DIRECTORY],
        post_create: &["cd {{directory}} && go mod download"],
        tags: &["go"],
    },
];

/// The built-in templates, in the order in which they are listed.
#[must_use]
pub fn built_in() -> Vec<Template> {
    OUTLINES.iter().filter_map(template).collect()
}

/// The built-in template of that id, if there is one.
#[must_use]
pub fn built_in_template(id: &TemplateId) -> Option<Template> {
    let outline = OUTLINES.iter().find(|outline| outline.id == id.as_str());
    outline.and_then(template)
}

fn template(outline: &Outline) -> Option<Template> {
    let text = |text: &str| text.to_owned();
    let required = outline
        .variables
        .iter()
        .map(|(name, description)| Variable {
            name: text(name),
            description: text(description),
            required: Some(true),
            default: None,
        });
    let branch = Variable {
        name: text("branch"),
        description: text("Branch to start from; the repository's default branch if empty"),
        required: None,
        default: None,
    };
    let options = outline
        .options
        .iter()
        .map(|(name, description, default)| Variable {
            name: text(name),
            description: text(description),
            required: None,
            default: Some(text(default)),
        });
    let texts = |of: &[&str]| of.iter().map(|one| (*one).to_owned()).collect();
    Some(Template {
        // A test holds that each of them is one.
        id: TemplateId::parse(outline.id).ok()?,
        content: TemplateContent {
            name: text(outline.name),
            description: text(outline.description),
            source: TemplateSource {
                kind: SourceKind::Git,
                repository: text(outline.repository),
                branch: Some(text("{{branch}}")),
            },
            variables: required.chain([branch]).chain(options).collect(),
            hooks: Hooks {
                post_create: texts(outline.post_create),
            },
            tags: texts(outline.tags),
            environment: None,
        },
        built_in: true,
        created_at: Timestamp::from_epoch_ms(MADE_AT_MS),
        updated_at: None,
    })
}

#[cfg(test)]
pub(super) const COUNT: usize = OUTLINES.len();
