//! Names of Anthropic's models on Amazon Bedrock. The bundled table has their prices under AWS's
//! name: Anthropic's own for the global endpoint, a tenth more for a region's, from Claude Sonnet 4.5 on.

/// The provider in the bundled table.
pub(crate) const TABLE_PROVIDER: &str = "aws";
/// The provider as the service calls it.
pub(crate) const PROVIDER: &str = "bedrock";
/// The part of each of these models' ids after the prefix of its region.
const FAMILY: &str = "anthropic.claude-";
/// The prefix in the bundled table that stands for all regions.
const ALL_REGIONS: &str = "regional.";

/// The id of a model without the prefix of its region, if it is one of Bedrock's: the
/// price of a region's endpoint.
pub(crate) fn regional(model: &str) -> Option<&str> {
    let at = model.find(FAMILY)?;
    (at == 0 || model[..at].ends_with('.')).then(|| &model[at..])
}

/// The name by which a model of the table is called.
pub(crate) fn called<'a>(provider: &str, model: &'a str) -> &'a str {
    match provider {
        TABLE_PROVIDER => model.strip_prefix(ALL_REGIONS).unwrap_or(model),
        _ => model,
    }
}

/// The provider of a model as the service calls it.
pub(crate) fn provider(of_table: &str, model: &str) -> String {
    let is_bedrock = of_table == TABLE_PROVIDER && regional(model).is_some();
    let name = if is_bedrock { PROVIDER } else { of_table };
    name.to_owned()
}
