//! The source of a workspace with the template that it names.

use awo_contract::body::FaultList;
use awo_contract::work_orders::input::WorkspaceSource;
use awo_domain::template::{Hooks, ResolvedTemplate, TemplateContent};

/// The source with the template that it names.
pub(super) fn resolved(
    source: Option<WorkspaceSource>,
    template: Option<&TemplateContent>,
    allow_file: bool,
    faults: &mut FaultList,
) -> Option<ResolvedTemplate> {
    let variables = match source? {
        WorkspaceSource::Git(source) => {
            return Some(ResolvedTemplate {
                source,
                hooks: Hooks::default(),
                environment: None,
            });
        }
        WorkspaceSource::Template { variables, .. } => variables,
    };
    let Some(template) = template else {
        faults.add(
            "/workspaceSource/templateId",
            "is not the id of a template: GET /v1/templates lists them",
        );
        return None;
    };
    let source = template.resolve(&variables?, allow_file);
    source
        .map_err(|own_faults| {
            for fault in own_faults {
                faults.add(&format!("/workspaceSource{}", fault.path), fault.message);
            }
        })
        .ok()
}
