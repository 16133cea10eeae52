import assert from 'node:assert/strict';
import { before, describe, it } from 'mocha';
import { ExpectedError } from '../../../../../src/core/errors';
import type { ComposingReader } from '../../../../../src/core/launchers/composition';
import type { LauncherFile } from '../../../../../src/core/run/facts';
import { loadConfig, type LoadedConfig } from '../../../../../src/core/config-files/load-config';
import { resolveRun } from '../../../../../src/core/plan-request/resolve';
import { say, sentence } from '../../../../../src/core/sentence';
import { fileStart } from '../../../../../src/core/languages/json/document';
import { shellReader, values } from './shell-reader';

let read: ComposingReader;

before(async () => {
  read = await shellReader();
});

const readText = (text: string): LauncherFile => read('run.sh', text);
const factsOf = (text: string): unknown => values(readText(text).facts);
const remarkTexts = ({ remarks }: Pick<LauncherFile, 'remarks'>): readonly string[] =>
  remarks.map(({ code, message }) => `${code} ${say(message)}`);

/** Loads `run.sh` of some files. */
async function load(files: Readonly<Record<string, string>>): Promise<LoadedConfig> {
  const from = (name: string): string => name.slice(0, name.lastIndexOf('/') + 1);
  const host = (name: string, path: string): Promise<{ file: string; text: string }> => {
    const steps: string[] = [];
    for (const step of `${from(name)}${path}`.split('/')) if (step === '..') steps.pop(); else if (step !== '.') steps.push(step); // prettier-ignore
    const file = steps.join('/');
    const text = files[file];
    if (text !== undefined) return Promise.resolve({ file, text });
    return Promise.reject(new ExpectedError('config-not-found', sentence`not there`, sentence`look`, fileStart(file)));
  };
  return loadConfig('jobs/run.sh', files['jobs/run.sh'] ?? '', { read: host, shell: () => Promise.resolve(read) });
}

/** What torchrun starts without --nnodes and --nproc-per-node. */
const one = { gpusPerNode: 1, nodes: 1 };
const sizes = '--num-layers 8 --hidden-size 64 --num-attention-heads 8';

describe('a script that another shell runs', () => {
  it('is followed in single quotes, with the variables of the script around it', () => {
    const text = `TP=4\nexport CMD="pretrain_gpt.py ${sizes} --tensor-model-parallel-size $TP"\nexport LAUNCHER="torchrun --nproc_per_node 8 --nnodes 2"\nsrun --label bash -c '$LAUNCHER --node_rank $SLURM_PROCID $CMD' 2>&1 | tee log\n`;
    assert.deepEqual(factsOf(text), { layers: 8, hidden: 64, heads: 8, tensor: 4, gpusPerNode: 8, nodes: 2 });
    const { source } = readText(text).facts.tensor ?? {};
    assert.ok(source?.kind === 'file' && text.slice(source.place.range.start, source.place.range.end) === '4');
  });

  it('is followed through several statements, and where eval takes quotes out', () => {
    assert.deepEqual(factsOf(`bash -lc 'L=12; cd /w && python pretrain_gpt.py --num-layers $L --bf16'`), { layers: 12, precision: 'bf16' });
    const frequency = `ARGS="--num-layers 4 --moe-layer-freq '([0]*1+[1]*3)'"\neval "torchrun pretrain_gpt.py $ARGS"\n`;
    assert.deepEqual(factsOf(frequency), { ...one, layers: 4, moeLayerFrequency: '([0]*1+[1]*3)' });
  });

  it('has every list that follows another on a continued line', () => {
    const lists = 'A=(--num-layers 4)\nB=(--hidden-size 64)\nC=(--bf16)\n';
    const expected = { ...one, layers: 4, hidden: 64, precision: 'bf16' };
    for (const run of ['eval $CMD', 'eval "$CMD"', 'bash -c "$CMD"', '$CMD'])
      assert.deepEqual(factsOf(`${lists}CMD="torchrun pretrain_gpt.py \${A[@]} \\\n  \${B[@]} \\\n\t\${C[@]}"\n${run}\n`), expected, run);
    const escaped = `L=(--pipeline-model-parallel-layout 'Et\\|\\(tt\\|\\)*2L')\nCMD="torchrun pretrain_gpt.py --num-layers 5 \${L[@]}"\neval $CMD\n`;
    assert.deepEqual(factsOf(escaped), { ...one, layers: 5, pipelineLayout: 'Et|(tt|)*2L' });
  });

  it('keeps what depends on a condition so', () => {
    const text = `if [ $1 = a ]; then\nL="--num-layers 4 --bf16"\nelse\nL="--num-layers 8 --bf16"\nfi\nRUN="torchrun pretrain_gpt.py $L --name \\"x\\""\neval "$RUN"\n`;
    assert.deepEqual(remarkTexts(readText(text)), [
      'flag-conditional --num-layers, --bf16 depend on "if [ $1 = a ]", which is only known when the script runs',
    ]);
    assert.equal(readText(text).facts.layers?.isConditional, true);
  });

  it('is followed where a here-document writes or hands it', () => {
    const job = `torchrun pretrain_gpt.py --num-layers $N --hidden-size 64 --bf16`;
    const expected = { layers: 6, hidden: 64, precision: 'bf16' };
    for (const text of [
      `N=6\ncat <<EOF > job.sh\n#!/bin/bash\n${job}\nEOF\nchmod +x job.sh\nsrun ./job.sh\n`,
      `N=6\ncat > job.sh <<'EOF'\n${job}\nEOF\nexport N\nbash job.sh\n`,
      `N=6\nsbatch <<EOF\n#!/bin/bash\n${job}\nEOF\n`,
      `N=6\ncat <<EOF > env.sh\nMORE="--bf16"\nEOF\nsource ./env.sh\ntorchrun pretrain_gpt.py --num-layers $N --hidden-size 64 $MORE\n`,
    ])
      assert.deepEqual(factsOf(text), text.includes('srun') ? expected : { ...one, ...expected }, text);
    const written = `N=6\ncat <<EOF > job.sh\n${job}\nEOF\nbash job.sh\n`;
    const { source } = readText(written).facts.hidden ?? {};
    assert.ok(source?.kind === 'file');
    assert.equal(written.slice(source.place.range.start, source.place.range.end), '64');
  });

  it('ends where it calls itself', () => {
    const quoted = 'A=\'eval "$A; $A"\'\neval "$A"\ntorchrun pretrain_gpt.py --num-layers 2 --hidden-size 8\n';
    assert.deepEqual(factsOf(quoted), { ...one, layers: 2, hidden: 8 });
    const written =
      'cat <<EOF > a.sh\nbash a.sh\nbash a.sh; source a.sh\nEOF\nbash a.sh\ntorchrun pretrain_gpt.py --num-layers 2 --hidden-size 8\n';
    assert.deepEqual(factsOf(written), { ...one, layers: 2, hidden: 8 });
  });

  it('takes the arguments of a function as "$@"', () => {
    assert.deepEqual(factsOf(`go() {\n  torchrun pretrain_gpt.py "$@" --bf16\n}\ngo --num-layers 3 --hidden-size 48\n`), {
      ...one,
      layers: 3,
      hidden: 48,
      precision: 'bf16',
    });
  });
});

describe('a file that a script sources', () => {
  const run = `source "$(dirname "$0")/../conf/env.sh"\ntorchrun pretrain_gpt.py ${sizes} --tensor-model-parallel-size $TP $MORE\n`;

  it('counts as if its text were in the script, and a value has its place in it', async () => {
    const conf = 'TP=2\nMORE=(--bf16)\nMORE="--pipeline-model-parallel-size ${PP:-4}"\n';
    const { launcher, findings } = await load({ 'jobs/run.sh': run, 'conf/env.sh': conf });
    assert.equal(launcher?.facts.tensor?.value, 2);
    assert.equal(launcher.facts.pipeline?.value, 4);
    const { source } = launcher.facts.tensor;
    assert.ok(source.kind === 'file' && source.place.file === 'conf/env.sh');
    assert.equal(conf.slice(source.place.range.start, source.place.range.end), '2');
    assert.equal(launcher.facts.tensor.whole, undefined);
    assert.deepEqual(findings.filter(({ code }) => code === 'shell-not-followed'), []); // prettier-ignore
  });

  it('is reported missing where the launch needs what nobody sets', async () => {
    const { launcher } = await load({ 'jobs/run.sh': run });
    assert.ok(launcher !== null);
    assert.deepEqual(remarkTexts(launcher), [
      'flag-unknown-value --tensor-model-parallel-size takes $TP, which is only known when the script runs',
      'shell-not-followed "../conf/env.sh" is missing, so its settings are unknown',
    ]);
    const known = await load({ 'jobs/run.sh': `source conf.sh\ntorchrun pretrain_gpt.py ${sizes}\n` });
    assert.deepEqual(known.launcher?.remarks, []);
    const system = await load({
      'jobs/run.sh': `source ~/.bashrc\nsource venv/bin/activate\ntorchrun pretrain_gpt.py ${sizes} $MY_ARGS\n`,
    });
    assert.deepEqual(remarkTexts(system.launcher!), ['shell-not-followed $MY_ARGS is not set here: flags that it adds are left out']);
  });

  it('is looked for by the end of its path where it lies below $HOME', async () => {
    const script = `source $HOME/conf/env.sh\nsource $HOME/.bashrc\ntorchrun pretrain_gpt.py ${sizes} --tensor-model-parallel-size $TP\n`;
    const { launcher } = await load({ 'jobs/run.sh': script, 'conf/env.sh': 'TP=2\n' });
    assert.equal(launcher?.facts.tensor?.value, 2);
    const withoutFile = await load({ 'jobs/run.sh': script });
    assert.ok(remarkTexts(withoutFile.launcher!).includes('shell-not-followed "conf/env.sh" is missing, so its settings are unknown'));
  });

  it('may source others, also itself', async () => {
    const files = {
      'jobs/run.sh': `. ./a.sh\ntorchrun pretrain_gpt.py ${sizes} $B\n`,
      'jobs/a.sh': '. ./b.sh\n. ./a.sh\n',
      'jobs/b.sh': 'B=--bf16\n',
    };
    const { launcher } = await load(files);
    assert.equal(launcher?.facts.precision?.value, 'bf16');
  });
});

describe('what people write that no shell takes', () => {
  it('is read around a place to fill in', () => {
    const text = `DATA=<Specify path and file prefix>_text_document\nOUT=<path>\ntorchrun pretrain_gpt.py ${sizes} --data-path $DATA --save $OUT --fp16 < in.txt > out.txt\n`;
    assert.deepEqual(factsOf(text), { ...one, layers: 8, hidden: 64, heads: 8, precision: 'fp16' });
    assert.deepEqual(readText(text).remarks, []);
  });

  it('is not a mistake where a backslash ends the file', () => {
    assert.deepEqual(readText(`torchrun pretrain_gpt.py ${sizes} \\\n  --fp16 \\\n`).remarks, []);
  });

  it('finds no error in settings that another script starts', async () => {
    const { launcher, findings } = await load({
      'jobs/run.sh': 'OPTIONS="--num-layers 30 --hidden-size 64 --pipeline-model-parallel-size 4 --seq-length 8"\n',
    });
    assert.equal(launcher?.isPart, true);
    assert.deepEqual(findings.map(({ code, severity }) => `${severity} ${code}`), ['information pp-layers-not-divisible']); // prettier-ignore
  });
});

describe('a run that trains adapters', () => {
  it('is planned, and nothing is reported of what all weights would take', async () => {
    const sized = `torchrun pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 8 --pipeline-model-parallel-size 8 --padded-vocab-size 128256`;
    const full = await load({ 'jobs/run.sh': sized });
    assert.ok(full.run !== null && full.findings.some(({ code }) => code === 'pp-end-stage-memory'));
    const { run: planned, findings } = await load({ 'jobs/run.sh': `${sized} --lora-r 16 --lora-target-modules linear_qkv` });
    assert.ok(planned);
    const { training } = resolveRun(planned, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null });
    assert.deepEqual(training.adapter, { rank: 16, targets: ['qkv'] });
    assert.deepEqual(findings.filter(({ code }) => code === 'pp-end-stage-memory'), []); // prettier-ignore
  });
});

describe('a launch that is put together from arrays', () => {
  const arrays = `NET=(
  --num-layers 32
  --hidden-size 4096
  --num-attention-heads 32
)
RUN=( --nproc-per-node 4 --nnodes 16 )
`;
  const training = '--seq-length 8192 --max-position-embeddings 8192 --micro-batch-size 1 --global-batch-size 256 --bf16';
  const command = (run: string, net: string): string => `torchrun ${run} pretrain_gpt.py \\\n  ${net} \\\n  ${training}`;
  const every = command('${RUN[@]}', '${NET[@]}');
  const forms: Readonly<Record<string, string>> = {
    'bash -c of a variable': `${arrays}CMD="${every}"\nsrun -l bash -c "$CMD"`,
    'a variable': `${arrays}CMD="${every}"\n$CMD`,
    'srun of a variable': `${arrays}CMD="${every}"\nsrun -l $CMD`,
    'eval of a variable': `${arrays}CMD="${every}"\neval $CMD`,
    'bash -c of a variable of joined entries': `${arrays}CMD="${command('${RUN[*]}', '${NET[*]}')}"\nsrun -l bash -c "$CMD"`,
    'bash -c of joined entries': `${arrays}srun -l bash -c "${command('${RUN[*]}', '${NET[*]}')}"`,
    'bash -c of entries': `${arrays}srun -l bash -c "${every}"`,
    'bash -c without arrays': `NET="--num-layers 32 --hidden-size 4096 --num-attention-heads 32"
RUN="--nproc-per-node 4 --nnodes 16"
CMD="${command('${RUN}', '${NET}')}"
srun -l bash -c "$CMD"`,
  };
  for (const [form, text] of Object.entries(forms))
    it(`is read whole as ${form}`, () => {
      const { layers, hidden, heads, nodes, gpusPerNode } = readText(text).facts;
      assert.deepEqual(
        [layers, hidden, heads, nodes, gpusPerNode].map((fact) => fact?.value),
        [32, 4096, 32, 16, 4],
      );
    });

  it('can have a flag cut out of a line that is continued within quotes', () => {
    const text = `NET="\\
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
    --checkpoint-activations \\
    --bf16"
srun -l bash -c "torchrun --nproc-per-node 4 pretrain_gpt.py $NET"`;
    const whole = readText(text).facts.recomputeGranularity?.whole;
    assert.ok(whole !== undefined);
    assert.equal(text.slice(0, whole.start) + text.slice(whole.end), text.replace(' \\\n    --checkpoint-activations', ''));
  });

  it('has its values where the arrays have them', () => {
    const text = forms['bash -c of a variable'] ?? '';
    const { layers } = readText(text).facts;
    assert.ok(layers?.source.kind === 'file');
    const { start, end } = layers.source.place.range;
    assert.equal(start, text.indexOf('32'));
    assert.equal(text.slice(start, end), '32');
  });
});
