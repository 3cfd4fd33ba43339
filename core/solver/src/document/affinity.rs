//! Tolerations and label tests: which nodes a role may use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a toleration compares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum TolerationOperator {
    /// Key and value must be those of the taint.
    #[default]
    Equal,
    /// The key alone decides.
    Exists,
}

/// Which effects a toleration covers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum TolerationEffect {
    /// All effects.
    #[default]
    #[serde(rename = "")]
    All,
    /// `NoSchedule` only.
    NoSchedule,
    /// `PreferNoSchedule` only.
    PreferNoSchedule,
    /// `NoExecute` only.
    NoExecute,
}

/// Lets a replica on a tainted node, as a Kubernetes toleration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Toleration {
    /// The taint's key; empty with `Exists` tolerates every taint.
    #[serde(default)]
    pub key: String,
    /// `Equal` compares the value, `Exists` does not.
    #[serde(default)]
    pub operator: TolerationOperator,
    /// The value to equal.
    #[serde(default)]
    pub value: String,
    /// The effect to tolerate; empty means all.
    #[serde(default)]
    pub effect: TolerationEffect,
}

/// How an expression compares a label with its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum ExpressionOperator {
    /// The label has one of the values.
    In,
    /// The label is absent or has none of the values.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// The label is an integer above the value.
    Gt,
    /// The label is an integer below the value.
    Lt,
}

/// A test on one label of a node, as in a Kubernetes node selector term.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expression {
    /// The label.
    pub key: String,
    /// How it is compared.
    pub operator: ExpressionOperator,
    /// Values to compare with: none for `Exists` and `DoesNotExist`, one for `Gt` and `Lt`.
    #[serde(default)]
    pub values: Vec<String>,
}

/// Tests that must hold together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeSelectorTerm {
    /// All must hold. A term without expressions matches no node, as in Kubernetes.
    pub expressions: Vec<Expression>,
}
