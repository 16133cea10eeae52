import { launchers } from '../../src/core/launchers/registry';
import { formatDuration, formatExactly, formatPercent } from '../../src/core/format';
import { say } from '../../src/core/sentence';
import { countRows, readKnownFacts, readRows } from '../corpus/open-rows';
import { knownReaders, type ShownReader } from '../corpus/shown-readers';

/** docs/readers.md: a public file of every launcher, what is read of it, its plan and what the reader takes. */
export function readersText(): string {
  const rows = readRows();
  const { configs, recognised, runs, planned } = countRows(rows);
  return [
    '# Readers',
    '',
    'A public file of every launcher that is read: what the file gives, its plan, and what its reader takes where the file is silent, with the reason. `npm run corpus -- FOLDER --readers` compares this page with what the files give now, and with `--write` writes it; `FOLDER` has the files as `owner+name/path`.',
    '',
    `Of ${rows.length} files of frameworks that people train with ([open-list.json](../test/corpus/open-list.json)), ${configs} are configs to train with. ${recognised} of them (${formatPercent(recognised / configs)}) are recognised, and ${planned} of ${runs} runs (${formatPercent(planned / runs)}) are planned with nodes given. ${readKnownFacts().length} facts, drawn by a fixed seed, were compared with their files line by line: all were right ([facts.json](../test/corpus/facts.json)).`,
    '',
    'Times are predictions with their range; memory is of the fullest GPU. Runs that others published are next to the prediction where the file is theirs.',
    '',
    ...knownReaders.flatMap(readerSection),
  ].join('\n');
}

function readerSection(reader: ShownReader): string[] {
  const { format, file, commit, facts, plan, assumed } = reader;
  const launcher = Object.entries(launchers).find(([name]) => name === format)?.[1];
  if (launcher === undefined) throw new Error(`test/corpus/readers.json has ${format}, which the registry does not have`);
  const [repository = '', ...parts] = file.split('/');
  const place = parts.join('/');
  return [
    `## ${format}`,
    '',
    `As ${say(launcher.file)}: [${place}](https://github.com/${repository.replace('+', '/')}/blob/${commit}/${place}). Read in ${launcher.capabilities.name}: ${launcher.capabilities.source}.`,
    '',
    `- Facts: ${facts.length === 0 ? 'none' : facts.map(asCode).join(', ')}.`,
    `- Plan on ${machineText(reader)}: ${plan}.`,
    `- Assumed: ${assumed.length === 0 ? 'nothing' : assumed.map(asCode).join('; ')}.`,
    ...publishedLine(reader),
    '',
  ];
}

/** Names and values come from files: they are shown as code. */
function asCode(text: string): string {
  const [head = '', ...reason] = text.split(': ');
  const [name = '', ...rest] = head.split(' ');
  const value = rest.join(' ').replaceAll('`', "'");
  return `\`${name} ${value}\`${reason.length > 0 ? ` (${reason.join(': ')})` : ''}`;
}

function machineText({ gpu, nodes, gpusPerNode }: ShownReader): string {
  const count = nodes === null ? 'the nodes that it gives' : `${formatExactly(nodes)} node${nodes === 1 ? '' : 's'}`;
  return `${gpu}, ${count}${gpusPerNode === null ? '' : ` of ${formatExactly(gpusPerNode)}`}`;
}

function publishedLine({ published, stepMs, memoryGiB }: ShownReader): string[] {
  if (published === undefined) return [];
  const ratio = published.stepMs === undefined || stepMs === null ? null : stepMs / published.stepMs - 1;
  const time = ratio === null || published.stepMs === undefined ? '' : `: ${formatDuration(published.stepMs)} a step, predicted ${formatPercent(Math.abs(ratio))} ${ratio < 0 ? 'shorter' : 'longer'}`; // prettier-ignore
  const memory = published.memoryGiB === undefined ? '' : `, ${published.memoryGiB} GiB where ${memoryGiB ?? 'nothing'} is predicted`;
  return [`- Published: ${published.what}${time}${memory} ([source](${published.source})).`];
}
