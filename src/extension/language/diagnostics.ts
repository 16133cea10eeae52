import * as vscode from 'vscode';
import { countsByCode, fewInformations, findingOfError, isOfAnotherKind, type Finding, type Severity } from '../../core/findings';
import type { Place } from '../../core/domain/located';
import { isOpen } from '../sessions/follow-files';
import type { LayoutSearches } from '../../host/sessions/layout-searches';
import type { PlanSessions } from '../../host/sessions/plan-sessions';
import type { SessionState } from '../../host/sessions/session-state';
import { toRange } from './ranges';
import { displayPath } from '../sessions/sources';
import { say } from '../../core/sentence';

const source = 'terapipe';

const severities: Readonly<Record<Severity, vscode.DiagnosticSeverity>> = {
  error: vscode.DiagnosticSeverity.Error,
  warning: vscode.DiagnosticSeverity.Warning,
  information: vscode.DiagnosticSeverity.Information,
};

/**
 * Shows the findings (and what stopped the reading) of every open config as problems, in whichever file they point to.
 * @param documentation URI of docs/findings.md, whose headings are the codes.
 */
export function registerDiagnostics(sessions: PlanSessions, layouts: LayoutSearches, documentation: vscode.Uri): vscode.Disposable {
  const collection = vscode.languages.createDiagnosticCollection(source);
  const shownFiles = new Set<string>();
  let shownByFile = new Map<string, readonly object[]>();

  function refresh(): void {
    const open = sessions.all().filter((state) => [...sessions.reads(state.file)].some(isOpen));
    const basis = new Map(open.map((state) => [state.file, [state.error ?? state.findings, layouts.findings(state.file)]]));
    if (sameEntries(basis, shownByFile)) return;
    shownByFile = basis;
    const byFile = new Map<string, vscode.Diagnostic[]>();
    for (const state of open) for (const [file, diagnostic] of toDiagnostics(state, layouts, documentation)) put(byFile, file, diagnostic);
    for (const file of shownFiles) if (!byFile.has(file)) collection.delete(vscode.Uri.parse(file));
    shownFiles.clear();
    for (const [file, diagnostics] of byFile) {
      shownFiles.add(file);
      collection.set(vscode.Uri.parse(file), few(diagnostics, documentation));
    }
  }

  return vscode.Disposable.from(
    collection,
    sessions.onDidChange(refresh),
    sessions.onDidDrop(refresh),
    layouts.onDidChange(refresh),
    vscode.workspace.onDidCloseTextDocument(refresh),
    vscode.workspace.onDidOpenTextDocument(refresh),
  );
}

function toDiagnostics(
  state: SessionState,
  layouts: LayoutSearches,
  documentation: vscode.Uri,
): (readonly [file: string, diagnostic: vscode.Diagnostic])[] {
  const problems = [...state.findings, ...layouts.findings(state.file)].filter(({ isNote }) => isNote !== true);
  const found = problems.map((finding): readonly [string, vscode.Diagnostic] => [
    finding.place.file,
    toDiagnostic(state, finding, documentation),
  ]);
  const { error } = state;
  const explained = state.findings.some(({ severity }) => severity === 'error');
  // What a launcher leaves to another file is nothing wrong in it; its own findings say where the sizes are.
  if (error === null || explained || (state.launcher !== null && isOfAnotherKind(error))) return found;
  const finding = findingOfError(error, state.run?.place ?? { file: state.file, range: { start: 0, end: 0 } });
  return [...found, [finding.place.file, toDiagnostic(state, finding, documentation)]];
}

function toDiagnostic(state: SessionState, finding: Finding, documentation: vscode.Uri): vscode.Diagnostic {
  const { code, severity, place, message, remedy } = finding;
  const diagnostic = new vscode.Diagnostic(
    toRange(place, state.texts),
    `${say(message, vscode.l10n.t)}; ${say(remedy, vscode.l10n.t)}`,
    severities[severity],
  );
  diagnostic.source = source;
  diagnostic.code = { value: code, target: documentation.with({ fragment: code }) };
  if (place.file !== state.file) diagnostic.relatedInformation = [namedBy(state, state.run?.place)];
  return diagnostic;
}

/** Why a problem is in a file that may be fine by itself: another one plans with it. */
function namedBy(state: SessionState, place: Place | undefined): vscode.DiagnosticRelatedInformation {
  const uri = vscode.Uri.parse(state.file);
  const range = place === undefined ? new vscode.Range(0, 0, 0, 0) : toRange(place, state.texts);
  return new vscode.DiagnosticRelatedInformation(
    new vscode.Location(uri, range),
    vscode.l10n.t('Planned from {0}', displayPath(state.file)),
  );
}

function put(byFile: Map<string, vscode.Diagnostic[]>, file: string, diagnostic: vscode.Diagnostic): void {
  const diagnostics = byFile.get(file) ?? [];
  byFile.set(file, diagnostics);
  const twin = diagnostics.some(({ message, range }) => message === diagnostic.message && range.isEqual(diagnostic.range));
  if (!twin) diagnostics.push(diagnostic);
}

/**
 * A file's problems with a few of its informations, and one more that counts the rest.
 *
 * @finding more-informations
 * The editor and the terminal show five informations on a file, one of each code before a second of any; this line counts the others by
 * code. `terapipe check --all` and `--json` print them all.
 * @example a script with seven flags whose values are known only at run time. "2 more informations: flag-unknown-value (2); --all prints
 * them"
 * @source The editor and `terapipe check`.
 * @ignore always.
 */
function few(diagnostics: readonly vscode.Diagnostic[], documentation: vscode.Uri): readonly vscode.Diagnostic[] {
  const { shown, left } = fewInformations(diagnostics, (diagnostic) => ({
    code: diagnosticCode(diagnostic),
    severity: diagnostic.severity === severities.information ? 'information' : 'error',
  }));
  const [first] = left;
  if (first === undefined) return shown;
  const rest = new vscode.Diagnostic(
    first.range,
    vscode.l10n.t(
      '{0} more informations: {1}; see "terapipe check --all", or set terapipe.findings.ignore',
      left.length,
      countsByCode(left.map(diagnosticCode)),
    ),
    severities.information,
  );
  rest.source = source;
  rest.code = { value: 'more-informations', target: documentation.with({ fragment: 'more-informations' }) };
  return [...shown, rest];
}

function diagnosticCode({ code }: vscode.Diagnostic): string {
  return typeof code === 'object' ? String(code.value) : '';
}

function sameEntries(a: ReadonlyMap<string, readonly object[]>, b: ReadonlyMap<string, readonly object[]>): boolean {
  return a.size === b.size && [...a].every(([key, parts]) => parts.every((part, index) => b.get(key)?.[index] === part));
}
