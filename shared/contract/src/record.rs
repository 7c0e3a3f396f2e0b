//! Objects, each declared by one function over its members.

use awo_domain::{Error, Fault};
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::body::{Object, Value};
use crate::field::Field;
use crate::schema::{self, Schemas, input};

/// Name and description of an object's component in the document.
#[derive(Debug, Clone, Copy)]
pub struct Component {
    /// Name.
    pub name: &'static str,
    /// Description.
    pub description: &'static str,
}

/// An object with its members.
pub trait Record {
    /// Component of the object; `None` if the schema stands in place.
    const COMPONENT: Option<Component> = None;
    /// Type of the value that is read.
    type Output;

    /// Reads or declares every member, and makes of them what is read; `None` after a fault, and
    /// when members are declared only.
    fn members<M: Members>(&self, members: &mut M) -> Option<Self::Output>;
}

/// Receiver of an object's members: a request's object, which is read, or a schema.
pub trait Members {
    /// A member that must be there.
    fn required<F: Field>(&mut self, name: &'static str, field: F) -> Option<F::Output>;

    /// A member that may be absent.
    fn optional<F: Field>(&mut self, name: &'static str, field: F) -> Option<F::Output>;

    /// A member with a value that stands for its absence.
    fn defaulted<F: Field<Output: Serialize>>(
        &mut self,
        name: &'static str,
        field: F,
        default: F::Output,
    ) -> F::Output;

    /// A member that the document shows as optional, and that this request must have if `needed`.
    fn required_if<F: Field>(
        &mut self,
        needed: bool,
        name: &'static str,
        field: F,
    ) -> Option<F::Output>;

    /// Notes a fault of a member.
    fn fault(&mut self, name: &str, message: impl Into<String>);

    /// Notes faults whose paths begin at this object.
    fn faults(&mut self, faults: impl IntoIterator<Item = Fault>);
}

impl Object {
    /// Reads a whole body.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every fault, up to a hundred.
    pub fn read<R: Record>(mut self, record: &R) -> Result<R::Output, Error> {
        let read = record.members(&mut self);
        self.finish(read)
    }
}

impl Members for Object {
    fn required<F: Field>(&mut self, name: &'static str, field: F) -> Option<F::Output> {
        Object::required(self, name, |value| field.read(value))
    }

    fn optional<F: Field>(&mut self, name: &'static str, field: F) -> Option<F::Output> {
        Object::optional(self, name, |value| field.read(value))
    }

    fn defaulted<F: Field<Output: Serialize>>(
        &mut self,
        name: &'static str,
        field: F,
        default: F::Output,
    ) -> F::Output {
        Object::optional(self, name, |value| field.read(value)).unwrap_or(default)
    }

    fn required_if<F: Field>(
        &mut self,
        needed: bool,
        name: &'static str,
        field: F,
    ) -> Option<F::Output> {
        if needed {
            Members::required(self, name, field)
        } else {
            Members::optional(self, name, field)
        }
    }

    fn fault(&mut self, name: &str, message: impl Into<String>) {
        Object::fault(self, name, message);
    }

    fn faults(&mut self, faults: impl IntoIterator<Item = Fault>) {
        Object::faults(self, faults);
    }
}

/// The schema of an object while its members are declared.
#[derive(Debug)]
struct Outline<'a> {
    schemas: &'a mut Schemas,
    properties: serde_json::Map<String, Json>,
    required: Vec<&'static str>,
}

impl Outline<'_> {
    fn add(&mut self, name: &'static str, schema: Json) {
        let before = self.properties.insert(name.to_owned(), schema);
        assert!(before.is_none(), "{name} is declared twice");
    }
}

impl Members for Outline<'_> {
    fn required<F: Field>(&mut self, name: &'static str, field: F) -> Option<F::Output> {
        self.required.push(name);
        self.optional(name, field)
    }

    fn optional<F: Field>(&mut self, name: &'static str, field: F) -> Option<F::Output> {
        let schema = field.schema(self.schemas);
        self.add(name, schema);
        None
    }

    fn defaulted<F: Field<Output: Serialize>>(
        &mut self,
        name: &'static str,
        field: F,
        default: F::Output,
    ) -> F::Output {
        let schema = schema::default(field.schema(self.schemas), json!(default));
        self.add(name, schema);
        default
    }

    fn required_if<F: Field>(
        &mut self,
        _: bool,
        name: &'static str,
        field: F,
    ) -> Option<F::Output> {
        self.optional(name, field)
    }

    fn fault(&mut self, _: &str, _: impl Into<String>) {}

    fn faults(&mut self, _: impl IntoIterator<Item = Fault>) {}
}

/// The schema of an object: these members and no others.
fn outline<R: Record>(record: &R, schemas: &mut Schemas) -> Json {
    let mut outline = Outline {
        schemas,
        properties: serde_json::Map::new(),
        required: Vec::new(),
    };
    record.members(&mut outline);
    let (properties, required) = (outline.properties, outline.required);
    let mut object =
        json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

impl<R: Record> Field for R {
    type Output = R::Output;

    fn read(&self, value: Value) -> Option<R::Output> {
        value.object(|object| self.members(object))
    }

    fn schema(&self, schemas: &mut Schemas) -> Json {
        let object = outline(self, schemas);
        match R::COMPONENT {
            Some(Component { name, description }) => input(name, description, object),
            None => object,
        }
    }
}

/// A body without members.
#[derive(Debug)]
pub struct Empty;

impl Record for Empty {
    type Output = ();

    fn members<M: Members>(&self, _: &mut M) -> Option<()> {
        Some(())
    }
}
