import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import { without } from '../../../src/core/records';
import { openCommandLine, type CommandLine } from './command-line';

const fixtures = path.join(import.meta.dirname, '../../fixtures');

/** The schema is of draft 4, whose `id` Ajv does not take. */
function sarifValidator() {
  const schema = JSON.parse(readFileSync(path.join(fixtures, 'sarif/sarif-schema-2.1.0.json'), 'utf8')) as {
    id?: string;
    $schema?: string;
  };
  return new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile(without(schema, 'id', '$schema'));
}

interface SarifRegion {
  readonly startLine: number;
  readonly startColumn: number;
  readonly endLine: number;
  readonly endColumn: number;
}

interface SarifLocation {
  readonly physicalLocation: { readonly artifactLocation: { readonly uri: string }; readonly region: SarifRegion };
}

interface SarifFix {
  readonly artifactChanges: readonly {
    readonly replacements: readonly { readonly deletedRegion: SarifRegion; readonly insertedContent: { readonly text: string } }[];
  }[];
}

interface SarifResult {
  readonly ruleId: string;
  readonly level: string;
  readonly locations: readonly SarifLocation[];
  readonly partialFingerprints: { readonly primaryLocationLineHash: string };
  readonly fixes?: readonly SarifFix[];
}

interface SarifRule {
  readonly id: string;
  readonly shortDescription: { readonly text: string };
  readonly fullDescription: { readonly text: string };
  readonly help: { readonly text: string; readonly markdown: string };
}

interface SarifRun {
  readonly tool: { readonly driver: { readonly rules: readonly SarifRule[] } };
  readonly results: readonly SarifResult[];
}

interface SarifLog {
  readonly runs: readonly [SarifRun];
}

/** 80 layers of Llama 3 70B on one GPU: its weights are 140 GB. */
const tooLarge = {
  model: { layers: 80, hidden: 8192, heads: 64, kvHeads: 8, ffn: 28672, gatedMlp: true, vocab: 128256 },
  cluster: { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 1 },
  training: { sequenceLength: 4096, globalBatch: 8, microBatch: 1 },
  layout: { tensor: 1, pipeline: 1, data: 1 },
};

const uneven = '{\n  "model": { "layers": 2, "hidden": 64, "heads": 5 },\n  "layout": { "tensor": 1 }\n}\n';

describe('terapipe check --format', () => {
  let cli: CommandLine;
  const write = (name: string, text: string): void => {
    mkdirSync(path.dirname(path.join(cli.folder, name)), { recursive: true });
    writeFileSync(path.join(cli.folder, name), text);
  };
  const sarif = async (...args: readonly string[]): Promise<SarifLog> =>
    JSON.parse((await cli.run(['check', ...args, '--format', 'sarif'])).out) as SarifLog;
  beforeEach(() => {
    cli = openCommandLine();
  });
  afterEach(() => {
    cli.dispose();
  });

  it('writes SARIF that is valid, names files relative to the folder and explains each rule', async () => {
    const validate = sarifValidator();
    write('a b/[x].terapipe.json', uneven);
    write('run.args', readFileSync(path.join(fixtures, 'launchers/megatron.args'), 'utf8'));
    const log = await sarif('.', path.join(fixtures, 'launchers/nemo.yaml'));
    assert.ok(validate(log), JSON.stringify(validate.errors?.slice(0, 3)));
    const [{ tool, results }] = log.runs;
    const uris = new Set(results.map(({ locations: [location] }) => location!.physicalLocation.artifactLocation.uri));
    assert.ok(uris.has('a%20b/%5Bx%5D.terapipe.json'), [...uris].join(' '));
    for (const { id, shortDescription, fullDescription, help } of tool.driver.rules) {
      for (const { text } of [shortDescription, fullDescription, help]) assert.ok(text !== '', id);
      assert.ok(shortDescription.text.length <= 1024 && fullDescription.text.length <= 1024, id);
      assert.doesNotMatch(shortDescription.text, /`|\]\(/, id);
    }
    const layers = tool.driver.rules.find(({ id }) => id === 'pp-layers-not-divisible');
    assert.match(layers?.help.markdown ?? '', /- Right to ignore/);
  });

  it('lists errors first and puts each at the text it is about, with replacements that mend it', async () => {
    const text = readFileSync(path.join(fixtures, 'launchers/megatron.args'), 'utf8');
    write('run.args', text);
    const [{ results }] = (await sarif('run.args')).runs;
    const order = results.map(({ level }) => ['error', 'warning', 'note'].indexOf(level));
    assert.deepEqual(order, order.toSorted());
    const layers = results.find(({ ruleId }) => ruleId === 'pp-layers-not-divisible');
    const { startLine, startColumn, endColumn } = layers!.locations[0]!.physicalLocation.region;
    assert.equal(text.split('\n')[startLine - 1]!.slice(startColumn - 1, endColumn - 1), '4');
    const [replacement] = layers!.fixes![0]!.artifactChanges[0]!.replacements;
    const { deletedRegion, insertedContent } = replacement!;
    const line = text.split('\n')[deletedRegion.startLine - 1]!;
    const mended = line.slice(0, deletedRegion.startColumn - 1) + insertedContent.text + line.slice(deletedRegion.endColumn - 1);
    write('run.args', text.replace(line, mended));
    const [after] = (await sarif('run.args')).runs;
    assert.ok(!after.results.some(({ ruleId }) => ruleId === 'pp-layers-not-divisible'), mended);
  });

  it('keeps fingerprints when lines come before and other figures change, and differ on one line', async () => {
    const fingerprints = async (text: string): Promise<string[]> => {
      write('a.terapipe.json', text);
      const [{ results }] = (await sarif('a.terapipe.json', '--severity', 'error')).runs;
      return results.map(({ partialFingerprints }) => partialFingerprints.primaryLocationLineHash);
    };
    const text = JSON.stringify(tooLarge, null, 2);
    const before = await fingerprints(text);
    assert.equal(before.length, 1);
    assert.deepEqual(await fingerprints(`// a comment\n${text.replace('"layers": 80', '"layers": 96')}`), before);
    const flags = await (async () => {
      write('train.sh', 'torchrun pretrain_gpt.py --num-layers $X --hidden-size $X --seq-length $X\n');
      const { runs } = await sarif('train.sh');
      return runs[0].results.map(({ partialFingerprints }) => partialFingerprints.primaryLocationLineHash);
    })();
    assert.equal(new Set(flags).size, flags.length);
  });

  it('annotates for GitHub, worst first, with what its runner would misread escaped', async () => {
    write('odd,name%.terapipe.json', uneven);
    write('b.terapipe.json', JSON.stringify(tooLarge));
    const { out, exitCode } = await cli.run(['check', '.', '--format', 'github']);
    const lines = out.trimEnd().split('\n');
    assert.match(lines[0]!, /^::error file=[^:]*,line=\d+,endLine=\d+,col=\d+,title=[\w-]+::\S.*;/);
    const kinds = lines.slice(0, -1).map((line) => ['error', 'warning', 'notice'].indexOf(/^::(\w+) /.exec(line)![1]!));
    assert.deepEqual(kinds, kinds.toSorted());
    assert.ok(
      lines.some((line) => line.includes('file=odd%2Cname%25.terapipe.json,')),
      out,
    );
    assert.match(lines.at(-1)!, /^\d+ findings in 2 configs$/);
    assert.equal(exitCode, 1);
  });

  it('writes JUnit with a failure for what fails, and a case for a file without findings', async () => {
    write('a&b.terapipe.json', uneven);
    write('good.terapipe.json', JSON.stringify({ ...tooLarge, model: { layers: 2, hidden: 64, heads: 4, ffn: 256, vocab: 512 } }));
    const { out } = await cli.run(['check', '.', '--format', 'junit']);
    assert.match(out, /<testsuite name="a&amp;b\.terapipe\.json" tests="\d+" failures="1" errors="0">/);
    assert.match(out, /<testcase classname="a&amp;b\.terapipe\.json" name="[\w-]+"><failure type="[\w-]+" message="[^"]+">a&amp;b\.terap/);
    assert.match(out, /<testcase classname="good\.terapipe\.json" name="starts and fits"\/>/);
    assert.doesNotMatch(out, /&(?!amp;|lt;|gt;|quot;)/);
  });

  it('json is what --json prints, and other names are refused', async () => {
    write('a.terapipe.json', uneven);
    const [one, other] = [await cli.run(['check', '.', '--json']), await cli.run(['check', '.', '--format', 'json'])];
    assert.deepEqual(other, one);
    assert.equal((await cli.run(['check', '.', '--format', 'xml'])).exitCode, 2);
    assert.equal((await cli.run(['check', '.', '--json', '--format', 'sarif'])).exitCode, 2);
    assert.match((await cli.run(['check', 'missing.json', '--format=json'])).out, /^\{"version":1,"error":/);
  });
});

describe('the exit status of terapipe check', () => {
  let cli: CommandLine;
  const check = (config: object, ...args: readonly string[]) => {
    writeFileSync(path.join(cli.folder, 'a.terapipe.json'), JSON.stringify(config));
    return cli.run(['check', 'a.terapipe.json', ...args]);
  };
  beforeEach(() => {
    cli = openCommandLine();
  });
  afterEach(() => {
    cli.dispose();
  });

  it('is 1 for a step that runs out of memory on a GPU that the file or a flag names, in every format', async () => {
    const unnamed = { ...tooLarge, cluster: undefined };
    for (const format of ['text', 'json', 'sarif', 'github', 'junit'])
      assert.equal((await check(tooLarge, '--format', format)).exitCode, 1, format);
    const flagged = await check(unnamed, '--gpu', 'H100-80GB');
    assert.match(flagged.out, /error: .*does not fit.* \[memory-over-capacity\]/);
    assert.equal(flagged.exitCode, 1);
  });

  it('is 0 for warnings, 1 with --strict, and 0 again where they are not looked for', async () => {
    const small = { layers: 4, hidden: 64, heads: 4, ffn: 256, vocab: 512 };
    const warned = { ...tooLarge, model: small, training: { ...tooLarge.training, sequenceLenth: 4096 } };
    const plain = await check(warned);
    assert.match(plain.out, /: warning: /);
    assert.doesNotMatch(plain.out, /: error: /);
    assert.equal(plain.exitCode, 0);
    assert.equal((await check(warned, '--strict')).exitCode, 1);
    const errorsOnly = await check(warned, '--strict', '--severity', 'error');
    assert.deepEqual([errorsOnly.exitCode, errorsOnly.out], [0, 'No findings in 1 config\n']);
  });
});
