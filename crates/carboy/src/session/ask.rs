//! What can be asked of a session, as a person types it and as a program writes it.

use carboy_protocol::Piece;
use serde::Deserialize;

/// One request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ask {
    /// Run code where the session stands.
    Run(Box<Piece>),
    /// End what was asked to run before this and has not been answered. It has no answer of its own.
    Interrupt {},
    /// Go on in the branch of this name, which is made from here if there is none.
    Branch { name: String },
    /// End a branch.
    Close { name: String },
    /// Keep the state under a name.
    Checkpoint { name: String },
    /// Go back to what is kept under a name.
    Rollback { name: String },
    /// Tell the names of what is kept.
    Checkpoints {},
    /// Forget what is kept under a name.
    Drop { name: String },
    /// Tell what the code has defined.
    Variables {},
}

/// What a person may type beside code.
#[derive(Debug)]
pub enum Typed {
    /// Something that is asked of the session.
    Ask(Ask),
    /// Tell the names of the branches.
    Branches,
    /// Tell what was used.
    Usage,
    /// Make a page of the last run.
    Page,
    Help,
    Exit,
}

/// Each command with what follows it, and what it does.
pub const COMMANDS: [(&str, &str, &str); 11] = [
    (
        "%branch",
        "[NAME]",
        "go on in a branch, made from here if there is none of this name; or list them",
    ),
    ("%close", "NAME", "end a branch"),
    ("%checkpoint", "NAME", "keep the state under a name"),
    ("%rollback", "NAME", "go back to what is kept under a name, which stays"),
    ("%checkpoints", "", "list what is kept"),
    ("%drop", "NAME", "forget what is kept under a name"),
    ("%variables", "", "list what the code has defined"),
    ("%usage", "", "what the last run and all of them used"),
    ("%page", "", "write the last run as a page, and open it in a browser"),
    ("%help", "", "this list"),
    ("%exit", "", "leave, as Ctrl-D does; everything ends"),
];

impl Typed {
    /// What was typed; the mistake in it otherwise.
    pub fn of(text: &str) -> Result<Typed, String> {
        let line = text.trim();
        if matches!(line, "exit" | "exit()" | "quit" | "quit()") {
            return Ok(Typed::Exit);
        }
        if !line.starts_with('%') {
            let piece = Piece { code: text.to_owned(), ..Piece::default() };
            return Ok(Typed::Ask(Ask::Run(Box::new(piece))));
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let name = rest.trim().to_owned();
        let Some((_, takes, _)) = COMMANDS.iter().find(|(command, ..)| *command == word) else {
            return Err(format!("there is no {word}; %help lists what there is"));
        };
        match (*takes, name.is_empty()) {
            ("NAME", true) => return Err(format!("{word} needs a name")),
            ("", false) => return Err(format!("{word} takes nothing behind it")),
            _ => {}
        }
        Ok(match word {
            "%branch" if name.is_empty() => Typed::Branches,
            "%branch" => Typed::Ask(Ask::Branch { name }),
            "%close" => Typed::Ask(Ask::Close { name }),
            "%checkpoint" => Typed::Ask(Ask::Checkpoint { name }),
            "%rollback" => Typed::Ask(Ask::Rollback { name }),
            "%checkpoints" => Typed::Ask(Ask::Checkpoints {}),
            "%drop" => Typed::Ask(Ask::Drop { name }),
            "%variables" => Typed::Ask(Ask::Variables {}),
            "%usage" => Typed::Usage,
            "%page" => Typed::Page,
            "%exit" => Typed::Exit,
            _ => Typed::Help,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_code() {
        assert!(matches!(Typed::of("x % 2"), Ok(Typed::Ask(Ask::Run(_)))));
        assert!(matches!(Typed::of("  %rollback  a b "),
            Ok(Typed::Ask(Ask::Rollback { name })) if name == "a b"));
        assert!(matches!(Typed::of("%branch"), Ok(Typed::Branches)));
        assert!(matches!(Typed::of("exit()"), Ok(Typed::Exit)));
        for wrong in ["%timeit x", "%rollback", "%usage now"] {
            assert!(Typed::of(wrong).is_err(), "{wrong}");
        }
        for (command, takes, _) in COMMANDS {
            assert!(Typed::of(&format!("{command} {}", takes.trim_matches(['[', ']']))).is_ok());
        }
    }

    #[test]
    fn programs_write_the_same_as_json() {
        let ask = |text: &str| serde_json::from_str::<Ask>(text);
        assert!(matches!(ask(r#"{"run": {"code": "x", "rollback": true}}"#), Ok(Ask::Run(_))));
        assert!(matches!(ask(r#"{"checkpoints": {}}"#), Ok(Ask::Checkpoints {})));
        assert!(ask(r#"{"run": {"cod": "x"}}"#).is_err());
    }
}
