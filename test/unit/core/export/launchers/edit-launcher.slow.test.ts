import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { readDeepSpeed } from '../../../../../src/core/launchers/deepspeed/reader';
import type { Facts, LauncherReader } from '../../../../../src/core/run/facts';
import { readTorchTitan } from '../../../../../src/core/launchers/torchtitan/reader';
import { yamlReaders } from '../../launchers/tables/yaml-readers';
import { writtenInto, type EditedLauncher } from '../../../../../src/core/export/launchers/edit-launcher';
import { launcherFormats } from '../../../../../src/core/launchers/registry';
import type { LauncherFormat } from '../../../../../src/core/run/config-format';
import type { LaunchSettings } from '../../../../../src/core/launchers/writing/launch-settings';
import { loadReader } from '../../../../../src/core/config-files/readers';
import { ExpectedError } from '../../../../../src/core/errors';
import { splitLines } from '../../../../../src/core/export/line-diff';
import { traitFiles } from '../../../../fixtures/traits';
import { shellReader } from '../../launchers/shell/shell-reader';
import { editable, editors } from './editors';
import { anyPlan, planWith } from './plans';
import { deepspeedLayout, megatronLayout, smallLayout, titanLayout, type ReadLayout } from './read-layout';
import { toText } from '../../../sentence-text';

const fixtures = path.join(import.meta.dirname, '../../../../fixtures/launchers');

const files: Readonly<Record<string, LauncherFormat>> = {
  'shell/arrays.sh': 'megatron-shell',
  'shell/defaults.sh': 'megatron-shell',
  'shell/here-document.sh': 'megatron-shell',
  'megatron-moe.sh': 'megatron-shell',
  'megatron.args': 'megatron-shell',
  'megatron-arguments.yaml': 'megatron-yaml',
  'megatron-config.yaml': 'megatron-yaml',
  'nemo.yaml': 'nemo',
  'megatron-bridge.yaml': 'megatron-bridge',
  'primus.yaml': 'primus',
  'primus-bridge.yaml': 'primus-bridge',
  'primus-torchtitan.yaml': 'primus-torchtitan',
  'flagscale.yaml': 'flagscale',
  'nemo-rl.yaml': 'nemo-rl',
  'gpt-neox.yml': 'gpt-neox',
  'gpt-neox-plain.yml': 'gpt-neox',
  'nanotron.yaml': 'nanotron',
  'torchtitan-2024.toml': 'torchtitan',
  'torchtitan-2025.toml': 'torchtitan',
  'deepspeed.json': 'deepspeed',
};

describe("a plan written into a launcher's file", () => {
  let readers: Readonly<Record<LauncherFormat, LauncherReader>>;

  before(async () => {
    const formats = launcherFormats.filter((format) => editors.has(format));
    const read = formats.map(async (format) => [format, await loadReader(format, () => Promise.resolve(shellReader()))] as const);
    readers = Object.fromEntries(await Promise.all(read)) as typeof readers;
  });

  function edited(plan: LaunchSettings, file: string, format: LauncherFormat, text: string): EditedLauncher {
    return writtenInto(plan, editable(readers[format](file, text), readers[format]));
  }

  for (const [file, format] of Object.entries(files))
    it(`${file}: has the settings of the plan, and keeps the rest`, () => {
      const text = readFileSync(path.join(fixtures, file), 'utf8');
      const { layers } = readers[format](file, text).facts;
      fc.assert(
        fc.property(anyPlan, (any) => {
          const plan = layers === undefined ? any : ofDepth(any, layers.value);
          const result = edited(plan, file, format, text);
          assert.equal(applied(text, result), result.text);
          const { facts } = readers[format](file, result.text);
          layoutOf(format, facts, plan, result.text).assertSame(result.gaps.map(({ what }) => toText(what)));
          assertRestKept(text, result.text);
          const again = edited(plan, file, format, result.text);
          assert.deepEqual(again.edits, []);
        }),
        { seed: 5, numRuns: format === 'megatron-shell' ? 6 : 12 },
      );
    });

  const script = (body: string): string =>
    `#!/bin/bash\n${body}\ntorchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py $ARGS \\\n  --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --bf16 --use-distributed-optimizer --sequence-parallel\n`;
  const shellPlan = planWith({ tensor: 4, pipeline: 2, data: 1, sequenceParallel: true, microBatch: 2, globalBatch: 16 });

  it('changes a variable where a flag takes one, and gives one that nobody sets a default', () => {
    const text = script(
      'N=1 # sequences\nARGS="--tensor-model-parallel-size $TP --pipeline-model-parallel-size ${PP:-1} --micro-batch-size $N --global-batch-size $1 --seq-length 4096"',
    );
    const result = edited(shellPlan, 'run.sh', 'megatron-shell', text);
    assert.match(result.text, /^N=2 # sequences$/m);
    assert.match(
      result.text,
      /--tensor-model-parallel-size \$\{TP:-4\} --pipeline-model-parallel-size \$\{PP:-2\} --micro-batch-size \$N --global-batch-size 16 /,
    );
    assert.deepEqual(
      result.gaps.map(({ reason }) => toText(reason)),
      [
        'TP of the environment wins over --tensor-model-parallel-size 4: start the script without it',
        'argument 1 of the script no longer has an effect: --global-batch-size 16 is in the file',
      ],
    );
  });

  it('writes numbers in place of arguments of the script, which would win over a default', () => {
    const text = script(
      'TP=$3\nPP="${4}"\nN=${5:-1}\nARGS="--tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP --micro-batch-size $N --global-batch-size 16 --seq-length 4096"',
    );
    const result = edited(shellPlan, 'run.sh', 'megatron-shell', text);
    assert.match(result.text, /^TP=4 # in place of \$3\nPP="2" # in place of \$\{4\}\nN=\$\{5:-2\}\n/m);
    assert.deepEqual(
      result.gaps.map(({ reason }) => toText(reason)),
      [
        'argument 3 of the script no longer has an effect: --tensor-model-parallel-size 4 is in the file',
        'argument 4 of the script no longer has an effect: --pipeline-model-parallel-size 2 is in the file',
        'argument 5 of the script wins over --micro-batch-size 2: give 2 there, or leave it out if it is the last',
      ],
    );
    assert.deepEqual(edited(shellPlan, 'run.sh', 'megatron-shell', result.text).edits, []);
  });

  const rest = '--micro-batch-size 2 --global-batch-size 16 --seq-length 4096';
  const both = `ARGS="--tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP ${rest}"`;
  const reasonsFor = (body: string): readonly string[] =>
    edited(shellPlan, 'run.sh', 'megatron-shell', script(body)).gaps.map(({ reason }) => toText(reason));

  it('calls an argument that is shifted, or that of a function, by its line and not by a number', () => {
    const shifted = [
      '$1 in line 2 of the old file is replaced, for --tensor-model-parallel-size 4',
      '$1 in line 3 of the old file is replaced, for --pipeline-model-parallel-size 2',
    ];
    assert.deepEqual(reasonsFor(`TP=$1; shift\nPP=$1; shift\n${both}`), shifted);
    const [own] = shifted;
    assert.deepEqual(reasonsFor(`train() {\n  TP=$1\n}\nPP=2\ntrain $1\n${both}`), [own?.replace('line 2', 'line 6')]);
    // a brace in a string or a remark is not the end of a function, and parentheses hold one too
    const bodies = [
      "train() {\n echo '}'; TP=$1\n}",
      'train() { # }\nTP=$1\n}',
      'train() {\n:; TP=$1; echo "${A}}"\n}',
      'function train (\n:; TP=$1\n)',
    ];
    for (const body of bodies) assert.deepEqual(reasonsFor(`${body}\nPP=2\ntrain\n${both}`), [own?.replace('line 2', 'line 3')], body);
    assert.deepEqual(reasonsFor(`train() {\n  TP=\${1:-2}\n}\nPP=2\ntrain\n${both}`), [
      '${1}, where it is given, wins over --tensor-model-parallel-size 4',
    ]);
  });

  it('reports an argument of two flags once, and that it has no effect only where nothing else takes it', () => {
    const one = `ARGS="--tensor-model-parallel-size $1 --pipeline-model-parallel-size $1 ${rest}"`;
    assert.deepEqual(reasonsFor(one), [
      'argument 1 of the script no longer has an effect: --tensor-model-parallel-size 4, --pipeline-model-parallel-size 2 are in the file',
    ]);
    const known = '$1 in line 2 of the old file is replaced, for --tensor-model-parallel-size 4';
    for (const more of ['echo ckpt-$1', 'echo ${1%/}', 'echo "$@"', 'echo $*', '[ $# -eq 1 ] || exit', 'echo $10'])
      assert.deepEqual(reasonsFor(`TP=$1\nPP=2\n${more}\n${both}`), [known], more);
    assert.deepEqual(reasonsFor(`TP=$10\nPP=2\necho \${10} $2 # and\n${both}`), [
      'argument 1 of the script no longer has an effect: --tensor-model-parallel-size 4 is in the file',
    ]);
  });

  it('keeps all arguments of a script, and one of a document that it writes', () => {
    for (const all of ['train "$@"', 'train $*', 'A=("$@")\ntrain "${A[@]}"']) {
      const reasons = reasonsFor(`train() {\nTP=$1; PP=2; LOG=$2\n${both}\n}\n${all}`);
      assert.ok(!reasons.some((reason) => reason.includes('effect')), all);
      const { text } = edited(shellPlan, 'run.sh', 'megatron-shell', script(`train() {\nTP=$1; PP=2; LOG=$2\n${both}\n}\n${all}`));
      assert.ok(text.includes(all), text);
    }
    const written = "cat > run.sh <<'EOF'\nTP=$1\nPP=2\n";
    const reasons = reasonsFor(`${written}${both}\nEOF`);
    assert.ok(!reasons.some((reason) => reason.includes('argument 1 of the script')), reasons.join());
    assert.ok(!reasonsFor(`set 3 4\nTP=$1\nPP=2\n${both}`).some((reason) => reason.includes('argument 1 of the script')));
  });

  it('writes a number where two flags share a variable and must differ', () => {
    const text = script(
      'N=1\nARGS="--tensor-model-parallel-size $N --pipeline-model-parallel-size $N --micro-batch-size 2 --global-batch-size 16 --seq-length 4096"',
    );
    const result = edited(shellPlan, 'run.sh', 'megatron-shell', text);
    assert.match(result.text, /^N=4\nARGS="--tensor-model-parallel-size \$N --pipeline-model-parallel-size 2 /m);
    assert.deepEqual(result.gaps, []);
  });

  it('shows what changes with the settings', () => {
    const text = script(
      'N=8\nARGS="--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --micro-batch-size $N --num-query-groups $N --group-query-attention --global-batch-size 16 --seq-length 4096"',
    );
    assert.deepEqual(edited(shellPlan, 'run.sh', 'megatron-shell', text).alongside, ['--num-query-groups: 8 becomes 2']);
  });

  it('leaves a file unchanged that has all of it already, and reports it', () => {
    const text = script(
      'ARGS="--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --micro-batch-size 2 --global-batch-size 16 --seq-length 4096"',
    );
    const { edits, set, gaps, kept } = edited(shellPlan, 'run.sh', 'megatron-shell', text);
    assert.deepEqual([edits, set, gaps], [[], [], []]);
    assert.ok(kept.map((each) => toText(each)).includes('tensor parallel size 4'));
  });

  it("leaves a template's placeholders to whoever fills it", () => {
    const text = readFileSync(path.join(fixtures, 'deepspeed-template.txt'), 'utf8');
    const { gaps, edits } = edited(shellPlan, 'ds.json', 'deepspeed', text);
    assert.deepEqual(edits, []);
    assert.match(toText(gaps.find(({ what }) => toText(what).startsWith('global batch'))?.reason ?? ''), /GLOBAL_BATCH/);
  });

  it('writes the precision in the words of NeMo-RL', () => {
    const text = readFileSync(path.join(fixtures, 'nemo-rl.yaml'), 'utf8');
    const { text: after, gaps } = edited(planWith({ precision: 'bf16' }), 'nemo-rl.yaml', 'nemo-rl', text);
    assert.match(after, /^ {2}precision: bfloat16$/m);
    assert.ok(!gaps.some(({ what }) => toText(what).startsWith('precision')));
  });

  it('switches full recompute on in a NeMo-RL file of the DTensor backend', () => {
    const text = 'policy:\n  model_name: meta-llama/Llama-3.1-8B\n  dtensor_cfg:\n    enabled: true\n    tensor_parallel_size: 1\n';
    const plan = planWith({ data: 8, zeroStage: 3, recompute: { granularity: 'full' } });
    const { text: after, gaps } = edited(plan, 'dtensor.yaml', 'nemo-rl', text);
    assert.match(after, /^ {4}activation_checkpointing: true$/m);
    assert.ok(!gaps.some(({ what }) => toText(what).startsWith('recompute')));
  });

  it('reports a plan of another model', () => {
    const text = script('ARGS="--tensor-model-parallel-size 4 --micro-batch-size 2 --seq-length 4096"').replace('2048', '4096');
    assert.equal(toText(edited(shellPlan, 'run.sh', 'megatron-shell', text).gaps[0]?.reason), 'hidden 4096 in the file and 2048 in the plan; sizes of the model are left as they are'); // prettier-ignore
  });

  it('never fails on a mangled file, and its edits give the text that was read back', () => {
    const texts = Object.entries(files).map(([file, format]) => ({ file, format, text: readFileSync(path.join(fixtures, file), 'utf8') }));
    const pieces = [
      '\n',
      '"',
      "'",
      '\\\n',
      '$(',
      '${X',
      '#',
      ': ',
      '- ',
      '{',
      ']',
      '=',
      '&a ',
      '*a',
      '<<: ',
      '\u0000',
      '--tensor-model-parallel-size $T',
      'é🦜',
    ];
    const edit = fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), remove: fc.nat(20), insert: fc.constantFrom('', ...pieces) });
    fc.assert(
      fc.property(
        fc.constantFrom(...texts),
        fc.array(edit, { minLength: 1, maxLength: 3 }),
        anyPlan,
        ({ file, format, text }, changes, plan) => {
          const mangled = changes.reduce((before, { at, remove, insert }) => {
            const offset = Math.floor(at * before.length);
            return before.slice(0, offset) + insert + before.slice(offset + remove);
          }, text);
          try {
            const launcher = readers[format](file, mangled);
            const result = writtenInto(plan, editable(launcher, readers[format]));
            assert.equal(applied(mangled, result), result.text);
            readers[format](file, result.text);
          } catch (error) {
            if (!(error instanceof ExpectedError)) throw error;
          }
        },
      ),
      { seed: 9, numRuns: 40 },
    );
  });

  it('writes null over what NeMo must not have, so that the remark behind it stays', () => {
    const text = readFileSync(path.join(fixtures, 'nemo.yaml'), 'utf8').replace(
      'virtual_pipeline_model_parallel_size: 2',
      '$& # interleaved',
    );
    const result = edited(planWith({ layers: 32, pipeline: 4, data: 2 }), 'nemo.yaml', 'nemo', text);
    assert.match(result.text, /^ {2}virtual_pipeline_model_parallel_size: null # interleaved$/m);
  });

  it('keeps line breaks of Windows', () => {
    const text = readFileSync(path.join(fixtures, 'nemo.yaml'), 'utf8').replace(/\r?\n/g, '\r\n');
    const result = edited(planWith({ layers: 32, context: 2, data: 4, recompute: { granularity: 'full' } }), 'nemo.yaml', 'nemo', text);
    assert.ok(result.set.length > 3);
    assert.ok(!/[^\r]\n/.test(result.text));
  });
});

describe("a plan written into launchers' files with the traits of those in public projects", () => {
  const folders = ['deepspeed', 'torchtitan', 'nemo', 'megatron-yaml', 'megatron-bridge'] as const;
  const found = folders.flatMap((format) => traitFiles(format).map(({ name, text }) => ({ format, name, text })));
  const readers = { ...yamlReaders, torchtitan: readTorchTitan, deepspeed: readDeepSpeed };

  it('are all here', () => {
    assert.equal(found.length, 19);
  });

  for (const { format, name, text } of found)
    it(`${format}/${name}: has the settings of the plan, and keeps the rest`, () => {
      const read = readers[format];
      const before = read(name, text);
      const any = planWith({ tensor: 4, pipeline: 4, data: 4, context: 2, sequenceParallel: true, sequenceLength: 8192, microBatch: 2, globalBatch: 96, recompute: { granularity: 'full' } }); // prettier-ignore
      const plan = ofDepth(any, before.facts.layers?.value ?? 24);
      const result = writtenInto(plan, editable(before, read));
      layoutOf(format, read(name, result.text).facts, plan, result.text).assertSame(result.gaps.map(({ what }) => toText(what)));
      assert.equal(applied(text, result), result.text);
      assertRestKept(text, result.text);
      assert.deepEqual(writtenInto(plan, editable(read(name, result.text), read)).edits, []);
      const after = read(name, result.text).facts;
      for (const fact of ['layers', 'hidden', 'vocab', 'experts'] as const)
        assert.deepEqual(after[fact]?.value, before.facts[fact]?.value, fact);
    });
});

/** The plan for a model of this many layers; stages as even as they can be. */
function ofDepth(plan: LaunchSettings, layers: number): LaunchSettings {
  const stages = plan.stageLayers.length;
  const stageLayers = plan.stageLayers.map((_, stage) => Math.floor(layers / stages) + (stage < layers % stages ? 1 : 0));
  return { ...plan, stageLayers, model: { ...plan.model, layers } };
}

function layoutOf(format: LauncherFormat, facts: Facts, plan: LaunchSettings, text: string): ReadLayout {
  if (format === 'torchtitan' || format === 'primus-torchtitan') return titanLayout(facts, plan, text);
  // no file here has the key of GPT-NeoX's older versions
  if (format === 'gpt-neox') return smallLayout(facts, plan, /^expert/);
  if (format === 'nanotron') return smallLayout(facts, plan);
  if (format === 'deepspeed') return deepspeedLayout(facts, plan);
  // a list of layers in the file, and all layers alike, leave some of it unsaid
  return megatronLayout(facts, plan, format === 'primus' || format === 'nemo-rl' ? /^recompute/ : undefined);
}

function applied(text: string, { edits }: EditedLauncher): string {
  return edits.reduceRight(
    (current, { place: { range }, newText }) => current.slice(0, range.start) + newText + current.slice(range.end),
    text,
  );
}

/** What has nothing to do with a layout is as before, in order: comments, other settings, blank lines. */
const layoutLine =
  /parallel|accumulation|overlap|offload|stage|batch|seq|zero|stages|recompute|activation|checkpoint|precision|bf16|fp16|distributed|position|PP=|TP=|ZERO|NODES|nodes|devices|optim|name:|split_points|microbatch|schedule|layout|pipeline|account|mode|"enabled"|dtype|mixed|fqns|^\s*"?(?:dp|tp|pp|pp_engine|device)"?:/i;

function assertRestKept(before: string, after: string): void {
  const rest = (text: string): readonly string[] =>
    splitLines(text).flatMap((line) => (layoutLine.test(line) ? [] : [line.replace(/ \\\n$/, '\n')]));
  assert.deepEqual(rest(after), rest(before));
  const comments = (text: string): readonly string[] => splitLines(text).flatMap((line) => /(?:^|\s)#.*$/.exec(line)?.[0] ?? []);
  const kept = new Set(comments(after));
  for (const comment of comments(before)) if (!/deep|stages|interleaved/.test(comment)) assert.ok(kept.has(comment), comment);
}
