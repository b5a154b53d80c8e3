//! `carboy top`: a fleet as it changes, in a terminal.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use carboy_fleet::Picture;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Paragraph, Row, Table};
use ratatui::{DefaultTerminal, Frame};

use super::arguments::Top;
use super::listen::Listener;
use super::status::{memory, rate, remarks, state, summary};
use crate::failure::Failure;
use crate::guest_text::one_line;

/// As often as nodes speak.
const PERIOD: Duration = Duration::from_millis(250);

pub async fn top(arguments: Top) -> Result<ExitCode, Failure> {
    if !(std::io::stdout().is_terminal() && std::io::stdin().is_terminal()) {
        let hint = "`carboy fleet status --json` is for programs";
        return Err(Failure::usage("`carboy top` needs a terminal", hint));
    }
    let mut listener = Listener::connect(&arguments.brokers).await?;
    let mut terminal = ratatui::try_init().map_err(Failure::os("take the terminal"))?;
    let shown = show(&mut terminal, &mut listener).await;
    ratatui::restore();
    shown.map_err(Failure::os("draw on the terminal"))?;
    Ok(ExitCode::SUCCESS)
}

async fn show(terminal: &mut DefaultTerminal, listener: &mut Listener) -> std::io::Result<()> {
    // Nodes beyond the edge are reached by scrolling.
    let mut above = 0_usize;
    loop {
        let picture = listener.listen(PERIOD).await;
        while event::poll(Duration::ZERO)? {
            let Event::Key(KeyEvent { code, modifiers, .. }) = event::read()? else { continue };
            match code {
                KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                // The terminal sends no signal for it now.
                KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => return Ok(()),
                KeyCode::Down => above = above.saturating_add(1),
                KeyCode::Up => above = above.saturating_sub(1),
                _ => {}
            }
        }
        above = above.min(picture.nodes.len().saturating_sub(1));
        terminal.draw(|frame| draw(frame, &picture, above))?;
    }
}

fn draw(frame: &mut Frame<'_>, picture: &Picture, above: usize) {
    let notes = remarks(picture);
    let heights = [
        Constraint::Length(1),
        Constraint::Min(4),
        Constraint::Length(u16::try_from(picture.gateways.len()).unwrap_or(9).min(8) + 3),
        Constraint::Length(u16::try_from(notes.len()).unwrap_or(4).min(4)),
        Constraint::Length(1),
    ];
    let [head, nodes, gateways, foot, keys] = Layout::vertical(heights).areas(frame.area());
    let bold = Style::new().add_modifier(Modifier::BOLD);
    frame.render_widget(Paragraph::new(Line::styled(summary(picture), bold)), head);
    frame.render_widget(nodes_table(picture, above), nodes);
    frame.render_widget(gateways_table(picture), gateways);
    let notes: Vec<Line<'_>> =
        notes.into_iter().map(|note| Line::styled(note, Color::Yellow)).collect();
    frame.render_widget(Paragraph::new(notes), foot);
    frame.render_widget(
        Paragraph::new(Line::styled("q ends, arrows scroll", Color::DarkGray)),
        keys,
    );
}

fn row<const N: usize>(cells: [String; N], colour: Color) -> Row<'static> {
    Row::new(cells.map(Cell::from)).style(colour)
}

fn heading<const N: usize>(words: [&'static str; N]) -> Row<'static> {
    Row::new(words).style(Style::new().add_modifier(Modifier::DIM))
}

fn nodes_table(picture: &Picture, above: usize) -> Table<'static> {
    let rows = picture.nodes.iter().skip(above).map(|node| {
        let word = state(node);
        let colour = match word {
            "ok" => Color::Reset,
            "silent" => Color::Red,
            _ => Color::Yellow,
        };
        let cells = [
            node.node.clone(),
            word.to_owned(),
            bar(node.free, node.slots),
            rate(node.runs_per_second),
            rate(node.refusals_per_second),
            node.sessions.to_string(),
            memory(node.memory_bytes),
            // A terminal obeys control characters; what a node says must not reach it.
            one_line(&node.version),
        ];
        row(cells, colour)
    });
    let widths = [9, 9, 18, 8, 9, 9, 17, 20].map(Constraint::Length);
    Table::new(rows, widths)
        .header(heading([
            "node",
            "state",
            "in use",
            "runs/s",
            "refused/s",
            "sessions",
            "memory",
            "version",
        ]))
        .block(Block::bordered().title("nodes"))
}

fn gateways_table(picture: &Picture) -> Table<'static> {
    let rows = picture.gateways.iter().map(|gateway| {
        let colour = if gateway.waiting > 0 { Color::Yellow } else { Color::Reset };
        let cells = [
            one_line(&gateway.gateway),
            gateway.running.to_string(),
            gateway.waiting.to_string(),
            rate(gateway.runs_per_second),
            rate(gateway.refusals_per_second),
            gateway.again.to_string(),
            gateway.lost.to_string(),
            one_line(&gateway.version),
        ];
        row(cells, colour)
    });
    let widths = [14, 8, 8, 8, 10, 8, 8, 20].map(Constraint::Length);
    Table::new(rows, widths)
        .header(heading([
            "gateway",
            "running",
            "waiting",
            "runs/s",
            "refused/s",
            "again",
            "lost",
            "version",
        ]))
        .block(Block::bordered().title("gateways"))
}

/// How much of a node is in use, as a picture and in numbers.
fn bar(free: u32, slots: u32) -> String {
    let used = slots.saturating_sub(free);
    let full = if slots == 0 { 0 } else { (u64::from(used) * 8 / u64::from(slots)).min(8) };
    let full = usize::try_from(full).unwrap_or(8);
    format!("{}{} {used}/{slots}", "█".repeat(full), "░".repeat(8 - full))
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::fleet::status::tests::hostile;

    #[test]
    fn a_fleet_is_drawn_and_a_node_draws_nothing_itself() {
        let mut terminal = Terminal::new(TestBackend::new(120, 16)).unwrap();
        terminal.draw(|frame| draw(frame, &hostile(), 0)).unwrap();
        let cells = terminal.backend().buffer().content();
        let text: String = cells.iter().map(|cell| cell.symbol()).collect();
        assert!(text.contains("nodeaaaa"), "{text}");
        assert!(text.contains("███████░ 7/8"), "{text}");
        assert!(text.contains("no gateway was heard"), "{text}");
        assert!(text.contains("\\u{1b}]52"), "{text}");
        assert!(!text.contains('\x1b') && !text.contains('\u{202e}'), "{text:?}");
    }

    #[test]
    fn a_node_without_places_is_drawn() {
        assert_eq!(bar(0, 0), "░░░░░░░░ 0/0");
        assert_eq!(bar(9, 8), "░░░░░░░░ 0/8");
    }
}
