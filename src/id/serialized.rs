//! Names in serialized data: the text that they are written as, and parsed again when they are read.

use std::borrow::Cow;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{BlobId, CommitId, Name, TreeId, UpstreamPath};

macro_rules! as_text {
    ($($name:ident)*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<'de, str>::deserialize(deserializer)?;
                Self::parse(text.as_ref()).map_err(D::Error::custom)
            }
        }
    )*};
}

as_text! { CommitId BlobId TreeId Name }

impl Serialize for UpstreamPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.as_bytes())
    }
}

impl<'de> Deserialize<'de> for UpstreamPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(text.as_bytes()).map_err(D::Error::custom)
    }
}
