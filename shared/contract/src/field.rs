//! Values of bodies, each with two faces: the reader of a request's value, and the schema of the
//! document.

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use awo_domain::money::{MAX_CREDITS, MicroCredits};
use serde_json::{Value as Json, json};
use utoipa::ToSchema;

use crate::body::Value;
use crate::schema::{self, Schemas};

/// A value of a body.
pub trait Field: Sized {
    /// Type of the value that is read.
    type Output;

    /// Reads a value; `None` after a fault, which is noted.
    fn read(&self, value: Value) -> Option<Self::Output>;

    /// Returns its schema, after adding those that it refers to.
    fn schema(&self, schemas: &mut Schemas) -> Json;

    /// The same with a description.
    fn described(self, description: &'static str) -> WithDescription<Self> {
        WithDescription(self, description)
    }
}

/// A field with a description; see [`Field::described`].
#[derive(Debug)]
pub struct WithDescription<F>(F, &'static str);

impl<F: Field> Field for WithDescription<F> {
    type Output = F::Output;

    fn read(&self, value: Value) -> Option<F::Output> {
        self.0.read(value)
    }

    fn schema(&self, schemas: &mut Schemas) -> Json {
        schema::described(self.0.schema(schemas), self.1)
    }
}

/// A string of so many characters.
pub fn text(length: RangeInclusive<usize>) -> Text {
    Text(length)
}

/// A string; see [`text`].
#[derive(Debug)]
pub struct Text(RangeInclusive<usize>);

impl Field for Text {
    type Output = String;

    fn read(&self, value: Value) -> Option<String> {
        value.text(self.0.clone())
    }

    fn schema(&self, _: &mut Schemas) -> Json {
        schema::text(self.0.clone())
    }
}

/// A whole number.
pub fn whole(range: RangeInclusive<u64>) -> Whole<u64> {
    Whole(range, PhantomData)
}

/// A whole number that fits a smaller type.
pub fn small<T: TryFrom<u64>>(range: RangeInclusive<u64>) -> Whole<T> {
    Whole(range, PhantomData)
}

/// A whole number; see [`whole`] and [`small`].
#[derive(Debug)]
pub struct Whole<T>(RangeInclusive<u64>, PhantomData<T>);

impl<T: TryFrom<u64>> Field for Whole<T> {
    type Output = T;

    fn read(&self, value: Value) -> Option<T> {
        T::try_from(value.whole(self.0.clone())?).ok()
    }

    fn schema(&self, _: &mut Schemas) -> Json {
        schema::whole(self.0.clone())
    }
}

/// True or false.
pub fn flag() -> Flag {
    Flag
}

/// True or false; see [`flag`].
#[derive(Debug)]
pub struct Flag;

impl Field for Flag {
    type Output = bool;

    fn read(&self, value: Value) -> Option<bool> {
        value.flag()
    }

    fn schema(&self, _: &mut Schemas) -> Json {
        schema::flag()
    }
}

/// A list of so many values.
pub fn list<F: Field>(item: F, length: RangeInclusive<usize>) -> List<F> {
    List(item, length)
}

/// A list; see [`list`].
#[derive(Debug)]
pub struct List<F>(F, RangeInclusive<usize>);

impl<F: Field> Field for List<F> {
    type Output = Vec<F::Output>;

    fn read(&self, value: Value) -> Option<Vec<F::Output>> {
        value.list(self.1.clone(), |item| self.0.read(item))
    }

    fn schema(&self, schemas: &mut Schemas) -> Json {
        schema::list(&self.0.schema(schemas), self.1.clone())
    }
}

/// An object of at most so many members with names of this length.
pub fn map<F: Field>(value: F, most: usize, name: RangeInclusive<usize>) -> Map<F> {
    Map { value, most, name }
}

/// An object with any names; see [`map`].
#[derive(Debug)]
pub struct Map<F> {
    value: F,
    most: usize,
    name: RangeInclusive<usize>,
}

impl<F: Field> Field for Map<F> {
    type Output = Vec<(String, F::Output)>;

    fn read(&self, value: Value) -> Option<Vec<(String, F::Output)>> {
        value.map(self.most, self.name.clone(), |member| {
            self.value.read(member)
        })
    }

    fn schema(&self, schemas: &mut Schemas) -> Json {
        schema::map(&self.value.schema(schemas), self.most, self.name.clone())
    }
}

/// A string that a function reads. `shown` is its schema.
pub fn parsed<F, P, T>(shown: F, parse: P) -> ParsedText<F, P>
where
    F: Field,
    P: Fn(&str) -> Result<T, String>,
{
    ParsedText { shown, parse }
}

/// A string that a function reads; see [`parsed`].
#[derive(Debug)]
pub struct ParsedText<F, P> {
    shown: F,
    parse: P,
}

impl<F: Field, T, P: Fn(&str) -> Result<T, String>> Field for ParsedText<F, P> {
    type Output = T;

    fn read(&self, value: Value) -> Option<T> {
        value.parsed(&self.parse)
    }

    fn schema(&self, schemas: &mut Schemas) -> Json {
        self.shown.schema(schemas)
    }
}

/// A string of this pattern, which a function reads.
pub fn pattern<P, T>(pattern: &'static str, parse: P) -> Pattern<P>
where
    P: Fn(&str) -> Result<T, String>,
{
    Pattern { pattern, parse }
}

/// A string of a pattern; see [`pattern`].
#[derive(Debug)]
pub struct Pattern<P> {
    pattern: &'static str,
    parse: P,
}

impl<T, P: Fn(&str) -> Result<T, String>> Field for Pattern<P> {
    type Output = T;

    fn read(&self, value: Value) -> Option<T> {
        value.parsed(&self.parse)
    }

    fn schema(&self, _: &mut Schemas) -> Json {
        json!({ "type": "string", "pattern": self.pattern })
    }
}

/// A string with the schema of `T`, which a function reads.
pub fn typed<T, P, O>(parse: P) -> TypedText<T, P>
where
    T: ToSchema,
    P: Fn(&str) -> Result<O, String>,
{
    TypedText(parse, PhantomData)
}

/// A string with the schema of a type; see [`typed`].
#[derive(Debug)]
pub struct TypedText<T, P>(P, PhantomData<T>);

impl<T: ToSchema, O, P: Fn(&str) -> Result<O, String>> Field for TypedText<T, P> {
    type Output = O;

    fn read(&self, value: Value) -> Option<O> {
        value.parsed(&self.0)
    }

    fn schema(&self, schemas: &mut Schemas) -> Json {
        schemas.of::<T>()
    }
}

/// The one of these values that has a name, or the fault that lists their names.
///
/// # Errors
/// Text that lists all names.
pub fn one_of<T: Copy, const N: usize>(
    name: &str,
    all: [T; N],
    as_str: impl Fn(T) -> &'static str,
) -> Result<T, String> {
    let value = all.into_iter().find(|value| as_str(*value) == name);
    value.ok_or_else(|| format!("must be one of {}", all.map(as_str).join(", ")))
}

/// An amount of credits above 0.
pub fn credits() -> Credits {
    Credits
}

/// An amount of credits; see [`credits`].
#[derive(Debug)]
pub struct Credits;

impl Field for Credits {
    type Output = MicroCredits;

    fn read(&self, value: Value) -> Option<MicroCredits> {
        value.decimal(|number| match MicroCredits::from_decimal(number)? {
            MicroCredits::ZERO => Err("must be more than 0".to_owned()),
            credits => Ok(credits),
        })
    }

    fn schema(&self, _: &mut Schemas) -> Json {
        json!({ "type": "number", "exclusiveMinimum": 0, "maximum": MAX_CREDITS })
    }
}

/// A string that is this word alone.
#[derive(Debug)]
pub struct Word(pub &'static str);

impl Field for Word {
    type Output = ();

    fn read(&self, value: Value) -> Option<()> {
        value.parsed(|text| {
            if text == self.0 {
                Ok(())
            } else {
                Err(format!("must be \"{}\"", self.0))
            }
        })
    }

    fn schema(&self, _: &mut Schemas) -> Json {
        schema::word([self.0])
    }
}

/// A string of any length that a body can have.
pub fn any_text() -> AnyText {
    AnyText
}

/// A string; see [`any_text`].
#[derive(Debug)]
pub struct AnyText;

impl Field for AnyText {
    type Output = String;

    fn read(&self, value: Value) -> Option<String> {
        value.parsed(|text| Ok(text.to_owned()))
    }

    fn schema(&self, _: &mut Schemas) -> Json {
        json!({ "type": "string" })
    }
}

/// A field with a default that the document shows, and that is applied elsewhere.
pub fn shown_default<F: Field>(field: F, default: &'static str) -> ShownDefault<F> {
    ShownDefault(field, default)
}

/// A field with a default; see [`shown_default`].
#[derive(Debug)]
pub struct ShownDefault<F>(F, &'static str);

impl<F: Field> Field for ShownDefault<F> {
    type Output = F::Output;

    fn read(&self, value: Value) -> Option<F::Output> {
        self.0.read(value)
    }

    fn schema(&self, schemas: &mut Schemas) -> Json {
        schema::default(self.0.schema(schemas), self.1)
    }
}
