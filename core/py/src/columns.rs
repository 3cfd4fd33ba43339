//! Columns of Python → columns of the solver; and which problems of columns still mean something when some could not
//! be read.

use gangplan_solver::document::{self, Snapshot};
use gangplan_solver::session::{
    Columns, GangColumns, LabelColumn, NodeColumns, NodeNeeds, PodColumns, RoleColumns, RunningColumns,
    Session,
};
use gangplan_solver::{Error, Problem, ProblemCode};
use pyo3::buffer::Element;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;

use crate::buffers::{self, Findings, Number, each};

/// A dataclass of columns that is read, and what was found wrong.
pub(crate) struct Table<'py, 'f> {
    value: Option<Bound<'py, PyAny>>,
    path: String,
    findings: &'f mut Findings,
}

/// Reads all columns. Texts that have a form of their own – queues, needs, taints – come as a document.
pub(crate) fn read(value: &Bound<'_, PyAny>, findings: &mut Findings) -> PyResult<Columns> {
    let mut columns = Columns::default();
    let mut whole = Table::whole(value, findings);
    columns.resources = whole.texts("resources")?;
    columns.topology = whole.texts("topology")?;
    columns.now = whole.number("now")?;
    columns.nodes = nodes(whole.table("nodes")?)?;
    columns.gangs = gangs(whole.table("gangs")?)?;
    columns.roles = roles(whole.table("roles")?)?;
    columns.running = running(whole.table("running")?)?;
    columns.pods = pods(whole.table("pods")?)?;
    let resources = columns.resources.len();
    for (table, rows) in [
        (&mut columns.nodes.allocatable, columns.nodes.names.len()),
        (&mut columns.roles.requests, columns.roles.names.len()),
        (&mut columns.pods.requests, columns.pods.nodes.len()),
    ] {
        if table.is_empty() && rows == 0 {
            table.resize(resources, Vec::new());
        }
    }
    Ok(columns)
}

fn nodes(mut table: Table) -> PyResult<NodeColumns> {
    Ok(NodeColumns {
        names: table.texts("names")?,
        allocatable: table.amounts("allocatable")?,
        labels: labels(&mut table)?,
        taints: table.numbers("taints")?,
        taint_sets: Vec::new(),
        unschedulable: table.truths("unschedulable")?,
        ready: table.truths("ready")?,
    })
}

fn labels(nodes: &mut Table) -> PyResult<Vec<LabelColumn>> {
    let Some(value) = nodes.field("labels")? else { return Ok(Vec::new()) };
    let (mut columns, path) = (Vec::new(), nodes.at("labels"));
    each(&value, &path, "label columns", nodes.findings, |item, findings| {
        let path = format!("{path}[{}]", columns.len());
        let mut table = Table { value: Some(item.clone()), path, findings };
        columns.push(LabelColumn {
            key: table.text("key")?,
            values: table.texts("values")?,
            codes: table.numbers("codes")?,
        });
        Ok(())
    })?;
    Ok(columns)
}

pub(crate) fn gangs(mut table: Table) -> PyResult<GangColumns> {
    Ok(GangColumns {
        names: table.texts("names")?,
        queues: table.numbers("queues")?,
        priorities: table.numbers("priorities")?,
        created: table.numbers("created")?,
        required: table.numbers("required")?,
        preferred: table.numbers("preferred")?,
        min_members: table.numbers("min_members")?,
        preemptible: table.truths("preemptible")?,
        runtimes_s: table.numbers("runtimes_s")?,
        bypassed: table.numbers("bypassed")?,
    })
}

pub(crate) fn roles(mut table: Table) -> PyResult<RoleColumns> {
    Ok(RoleColumns {
        gangs: table.numbers("gangs")?,
        names: table.texts("names")?,
        replicas: table.numbers("replicas")?,
        requests: table.amounts("requests")?,
        needs: table.numbers("needs")?,
        mins: table.numbers("mins")?,
        priorities: table.numbers("priorities")?,
    })
}

pub(crate) fn running(mut table: Table) -> PyResult<RunningColumns> {
    Ok(RunningColumns {
        roles: table.numbers("roles")?,
        indexes: table.numbers("indexes")?,
        nodes: table.numbers("nodes")?,
        reserved: table.truths("reserved")?,
    })
}

pub(crate) fn pods(mut table: Table) -> PyResult<PodColumns> {
    Ok(PodColumns {
        names: table.texts("names")?,
        nodes: table.numbers("nodes")?,
        requests: table.amounts("requests")?,
        queues: table.numbers("queues")?,
    })
}

impl<'py, 'f> Table<'py, 'f> {
    /// The dataclass that holds the tables.
    pub(crate) fn whole(value: &Bound<'py, PyAny>, findings: &'f mut Findings) -> Self {
        Self { value: Some(value.clone()), path: "$".to_owned(), findings }
    }
}

impl<'py> Table<'py, '_> {
    fn at(&self, field: &str) -> String {
        format!("{}.{field}", self.path)
    }

    fn field(&mut self, field: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(value) = &self.value else { return Ok(None) };
        // Long columns follow each other: Ctrl-C does not wait for all of them.
        value.py().check_signals()?;
        match value.getattr(field) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is_instance_of::<PyAttributeError>(value.py()) => {
                let message = format!("is missing: {} has no such column", buffers::shown(value));
                self.findings.lose(&self.at(field), ProblemCode::MissingField, message);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn table(&mut self, field: &str) -> PyResult<Table<'py, '_>> {
        let (mut value, path) = (self.field(field)?, self.at(field));
        if value.as_ref().is_some_and(Bound::is_none) {
            self.findings.lose(
                &path,
                ProblemCode::WrongType,
                "must be a table of columns, not None".to_owned(),
            );
            value = None;
        }
        Ok(Table { value, path, findings: self.findings })
    }

    fn number(&mut self, field: &str) -> PyResult<i64> {
        let path = self.at(field);
        self.field(field)?.map_or(Ok(0), |value| buffers::integer(&value, || path.clone(), self.findings))
    }

    fn text(&mut self, field: &str) -> PyResult<String> {
        let Some(value) = self.field(field)? else { return Ok(String::new()) };
        Ok(value.extract().unwrap_or_else(|_| {
            let message = format!("must be a text, not {}", buffers::shown(&value));
            self.findings.lose(&self.at(field), ProblemCode::WrongType, message);
            // No key that another column can have.
            format!("\0{}", self.path)
        }))
    }

    pub(crate) fn texts(&mut self, field: &str) -> PyResult<Vec<String>> {
        let path = self.at(field);
        self.field(field)?.map_or(Ok(Vec::new()), |value| buffers::texts(&value, &path, self.findings))
    }

    pub(crate) fn numbers<T: Number + Element>(&mut self, field: &str) -> PyResult<Vec<T>> {
        let path = self.at(field);
        self.field(field)?.map_or(Ok(Vec::new()), |value| buffers::numbers(&value, &path, self.findings))
    }

    pub(crate) fn amounts(&mut self, field: &str) -> PyResult<Vec<Vec<i64>>> {
        let path = self.at(field);
        self.field(field)?.map_or(Ok(Vec::new()), |value| buffers::table(&value, &path, self.findings))
    }

    pub(crate) fn truths(&mut self, field: &str) -> PyResult<Vec<bool>> {
        let path = self.at(field);
        self.field(field)?.map_or(Ok(Vec::new()), |value| buffers::truths(&value, &path, self.findings))
    }
}

/// Opens a session of what was read, or tells all that is wrong with it.
pub(crate) fn open(mut columns: Columns, mut findings: Findings, texts: &[u8]) -> Result<Session, Error> {
    match document::decode::<Snapshot>(texts) {
        Ok(texts) => take_in(&mut columns, texts),
        Err(Error::Invalid { problems, .. }) => {
            for problem in problems {
                findings.problems.push(Problem { path: column_path(&problem.path), ..problem });
            }
            let lost = ["$.queues", "$.needs", "$.nodes.taint_sets"];
            findings.lost.extend(lost.map(str::to_owned));
        }
        Err(interrupted) => return Err(interrupted),
    }
    let opened = Session::open(columns);
    if findings.problems.is_empty() {
        return opened;
    }
    let mut problems = findings.problems;
    if let Err(Error::Invalid { problems: more, .. }) = opened {
        let doubtful: Vec<&str> = problems
            .iter()
            .map(|problem| problem.path.as_str())
            .flat_map(|path| std::iter::once(path).chain(of_rows(path).iter().copied()))
            .chain(findings.lost.iter().flat_map(|path| of_column(path).iter().copied()))
            .collect();
        let certain =
            more.into_iter().filter(|problem| !doubtful.iter().any(|path| lies_in(&problem.path, path)));
        let certain: Vec<Problem> = certain.collect();
        problems.extend(certain);
    }
    Err(Error::invalid("columns", problems))
}

/// The document has the taints at nodes and the needs at the roles of one gang: see `gangplan.session`.
fn take_in(columns: &mut Columns, texts: Snapshot) {
    columns.queues = texts.queues;
    columns.nodes.taint_sets = texts.nodes.into_iter().map(|node| node.taints).collect();
    let roles = texts.gangs.into_iter().flat_map(|gang| gang.roles);
    let needs = roles.map(|role| NodeNeeds {
        node_selector: role.node_selector,
        node_affinity: role.node_affinity,
        tolerations: role.tolerations,
    });
    columns.needs = needs.collect();
}

/// Where in the columns a path of that document lies.
fn column_path(path: &str) -> String {
    if let Some(rest) = path.strip_prefix("$.gangs[0].roles") {
        return format!("$.needs{rest}");
    }
    match path.strip_prefix("$.nodes") {
        Some(rest) => format!("$.nodes.taint_sets{}", rest.replacen(".taints", "", 1)),
        None => path.to_owned(),
    }
}

pub(crate) fn lies_in(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// What cannot be judged where a row of a column could not be read.
fn of_rows(path: &str) -> &'static [&'static str] {
    let column = path.split('[').next().unwrap_or(path);
    match column {
        "$.roles.gangs" => &["$.roles.names", "$.gangs.names"],
        "$.roles.replicas" => &["$.running", "$.roles.mins", "$.gangs.min_members"],
        "$.running.roles" | "$.running.indexes" => &["$.running"],
        "$.nodes.labels" => &["$.nodes.labels", "$.topology"],
        _ => &[],
    }
}

/// What cannot be judged where a column could not be read at all.
fn of_column(path: &str) -> &'static [&'static str] {
    match path {
        "$.resources" => &["$.nodes.allocatable", "$.roles.requests", "$.pods.requests"],
        "$.topology" => &["$.gangs.required", "$.gangs.preferred"],
        "$.queues" => &["$.gangs.queues", "$.pods.queues"],
        "$.needs" => &["$.roles.needs"],
        "$.nodes.taint_sets" => &["$.nodes.taints"],
        "$.nodes" | "$.nodes.names" => &["$.nodes", "$.topology", "$.running.nodes", "$.pods.nodes"],
        "$.gangs" | "$.gangs.names" => &["$.gangs", "$.roles.gangs"],
        "$.roles" | "$.roles.names" => &["$.roles", "$.running", "$.gangs.names"],
        "$.running" | "$.running.roles" => &["$.running"],
        "$.pods" | "$.pods.nodes" => &["$.pods"],
        _ => &[],
    }
}
