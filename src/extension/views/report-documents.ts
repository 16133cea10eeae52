import * as vscode from 'vscode';
import type { Report, ReportBlock } from '../../core/report';
import { say, type Value } from '../../core/sentence';
import { escapeMarkdown } from '../language/markdown-text';

const reportScheme = 'terapipe-report';

/** Reports as read-only documents of a scheme of our own. */
export interface ReportDocuments {
  /** Shows a report in the Markdown preview, in place of an earlier one of that title for the file. @param title of its tab. */
  readonly show: (title: string, file: string, report: Report) => Promise<void>;
  readonly dispose: () => void;
}

export function createReportDocuments(): ReportDocuments {
  const texts = new Map<string, string>();
  const changed = new vscode.EventEmitter<vscode.Uri>();
  const provider = vscode.workspace.registerTextDocumentContentProvider(reportScheme, {
    onDidChange: changed.event,
    provideTextDocumentContent: (uri) => texts.get(uri.toString()) ?? '',
  });
  return {
    show: async (title, file, report) => {
      const uri = vscode.Uri.from({ scheme: reportScheme, path: `/${title}.md`, query: file });
      texts.set(uri.toString(), reportMarkdown(title, report));
      changed.fire(uri);
      try {
        await vscode.commands.executeCommand('markdown.showPreview', uri);
      } catch {
        // the Markdown extension of VS Code may be switched off
        await vscode.window.showTextDocument(uri, { preview: true });
      }
    },
    dispose: () => {
      provider.dispose();
      changed.dispose();
      texts.clear();
    },
  };
}

/** A report as Markdown that reads as its texts. */
function reportMarkdown(title: string, { headline, lines = [], blocks, notes = [] }: Report): string {
  const parts = [`# ${cell(title)}`, `**${cell(headline)}**`, ...lines.map(cell), ...blocks.flatMap(blockParts), ...notes.map(cell)];
  return `${parts.join('\n\n')}\n`;
}

/** Rows as a list of names with what they are, or as a table where columns have names. */
function blockParts({ title, head, rows, left, foot }: ReportBlock): string[] {
  if (rows.length === 0) return [];
  return [
    ...(title === undefined ? [] : [`## ${cell(title)}`]),
    head === undefined ? rows.map(listItem).join('\n') : table(head, rows, left),
    ...(foot === undefined ? [] : [cell(foot)]),
  ];
}

function listItem([name = '', ...others]: readonly Value[]): string {
  return others.length === 0 ? `- ${cell(name)}` : `- **${cell(name)}**: ${others.map(cell).join(', ')}`;
}

function table(head: readonly Value[], rows: ReportBlock['rows'], left: readonly number[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const sides = head.map((_, index) => (index === 0 || left.includes(index) ? ':--' : '--:'));
  return [line(head.map(cell)), line(sides), ...rows.map((row) => line(row.map(cell)))].join('\n');
}

function cell(value: Value): string {
  return escapeMarkdown(say(value, vscode.l10n.t).replace(/\s+/g, ' '));
}
