//! Texts with places for values of an event: `{{issue.title}}`.

/// A place for a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The title of the issue or pull request.
    Title,
    /// The text of the issue or pull request.
    Body,
    /// The address of its page.
    Url,
    /// The comment.
    Comments,
    /// The review.
    Review,
    /// The checks.
    Checks,
    /// The login of the actor.
    Actor,
    /// The branch of the pull request, or the pushed one.
    Branch,
    /// The value at a JSON pointer of the delivery's body.
    Pointer(String),
}

/// Fault of a text with places.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceFault {
    /// A place that is none.
    #[error(
        "has {{{{{0}}}}}, which is no value: use issue.title, issue.body, issue.url, comments, review, checks, actor, branch \
         or pointer:/a/b"
    )]
    Unknown(String),
    /// A place without an end.
    #[error("has {{{{ without }}}}")]
    Open,
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String),
    Value(Place),
}

/// A text with places for values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(pub(crate) Vec<Part>);

impl Place {
    fn parse(text: &str) -> Option<Place> {
        Some(match text.trim() {
            "issue.title" => Place::Title,
            "issue.body" => Place::Body,
            "issue.url" => Place::Url,
            "comments" => Place::Comments,
            "review" => Place::Review,
            "checks" => Place::Checks,
            "actor" => Place::Actor,
            "branch" => Place::Branch,
            other => {
                let pointer = other.strip_prefix("pointer:")?;
                (pointer.starts_with('/') && pointer.len() <= 256)
                    .then(|| Place::Pointer(pointer.to_owned()))?
            }
        })
    }

    /// The name, as a prompt shows it.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Place::Title => "issue.title".to_owned(),
            Place::Body => "issue.body".to_owned(),
            Place::Url => "issue.url".to_owned(),
            Place::Comments => "comments".to_owned(),
            Place::Review => "review".to_owned(),
            Place::Checks => "checks".to_owned(),
            Place::Actor => "actor".to_owned(),
            Place::Branch => "branch".to_owned(),
            Place::Pointer(pointer) => format!("pointer:{pointer}"),
        }
    }
}

impl Template {
    /// Reads a text.
    ///
    /// # Errors
    /// [`PlaceFault`], the first one.
    pub fn parse(text: &str) -> Result<Template, PlaceFault> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (place, after) = after.split_once("}}").ok_or(PlaceFault::Open)?;
            let place = Place::parse(place).ok_or_else(|| PlaceFault::Unknown(shortened(place)))?;
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            parts.push(Part::Value(place));
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Template(parts))
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_a_name_that_reads_as_it() {
        for name in [
            "issue.title",
            "issue.body",
            "issue.url",
            "comments",
            "review",
            "checks",
            "actor",
            "branch",
            "pointer:/a/b",
        ] {
            let Template(parts) = Template::parse(&format!("a {{{{{name}}}}} b")).unwrap();
            let [Part::Text(before), Part::Value(place), Part::Text(after)] = &parts[..] else {
                panic!("{parts:?}");
            };
            assert_eq!((&**before, &*place.name(), &**after), ("a ", name, " b"));
        }
    }

    #[test]
    fn nothing_else_is_a_place() {
        for bad in [
            "{{secret}}",
            "{{}}",
            "{{pointer:a}}",
            "{{issue}}",
            "{{ {{actor}} }}",
        ] {
            assert!(
                matches!(Template::parse(bad), Err(PlaceFault::Unknown(_))),
                "{bad}"
            );
        }
        assert_eq!(Template::parse("a {{actor"), Err(PlaceFault::Open));
        assert!(Template::parse("a } b }} {c}").is_ok());
    }
}
