import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'mocha';
import type { FactName, LauncherFile, LauncherReader } from '../../../../../src/core/run/facts';
import { megatronDefaults } from '../../../../../src/core/launchers/megatron/megatron-defaults';
import { isMegatronShell } from '../../../../../src/core/launchers/shell/recognise';
import { fixtures, shellReader, values } from './shell-reader';
import { say } from '../../../../../src/core/sentence';

let read: LauncherReader;
const readText = (text: string): LauncherFile => read('run.sh', text);
const factsOf = (text: string): Partial<Record<FactName, unknown>> => values(readText(text).facts);

/** The text at the place of a fact. */
function written({ facts, text }: LauncherFile, name: FactName): string | null {
  const source = facts[name]?.source;
  return source?.kind === 'file' ? text.slice(source.place.range.start, source.place.range.end) : null;
}

/** The text without the whole of a fact. */
function without({ facts, text }: LauncherFile, name: FactName): string | null {
  const whole = facts[name]?.whole;
  return whole === undefined ? null : text.slice(0, whole.start) + text.slice(whole.end);
}

before(async () => {
  read = await shellReader();
});

describe('the scripts of public projects, by their traits', () => {
  /** What a person reads in each, as the launcher takes it: defaults of Megatron-LM where the script leaves it open. */
  const expected: Readonly<Record<string, Partial<Record<FactName, unknown>>>> = {
    'arrays.sh': {
      layers: 96,
      hidden: 12288,
      heads: 96,
      kvHeads: 96,
      ffn: 49152,
      sequenceLength: 2048,
      tensor: 8,
      pipeline: 16,
      virtualStages: null,
      context: 1,
      expert: 1,
      microBatch: 1,
      globalBatch: 1536,
      gpusPerNode: 8,
      nodes: 1,
      precision: 'fp16',
      recomputeGranularity: 'none',
      batchSchedule: '0:16 2.4B:320 4.8B:624 7.2B:928 9.6B:1232 12B:1536',
    },
    'defaults.sh': {
      layers: 32,
      hidden: 4096,
      heads: 32,
      kvHeads: 8,
      ffn: 14336,
      sequenceLength: 4096,
      experts: 8,
      activeExperts: 2,
      tensor: 1,
      pipeline: 4,
      context: 1,
      expert: 8,
      activation: 'silu',
      initStd: 0.01,
      routerAuxLoss: 0.01,
      microBatch: 1,
      globalBatch: 256,
      gpusPerNode: 8,
      nodes: 1,
      precision: 'bf16',
      distributedOptimizer: true,
      sequenceParallel: true,
    },
    'quoted.sh': {
      encoderLayers: 12,
      decoderLayers: 12,
      hidden: 768,
      heads: 12,
      headDim: 64,
      ffn: 3072,
      encoderSequenceLength: 512,
      decoderSequenceLength: 128,
      tensor: 1,
      pipeline: 1,
      microBatch: 64,
      globalBatch: 512,
      gpusPerNode: 8,
      nodes: 1,
      precision: 'bf16',
    },
    'here-document.sh': {
      layers: 24,
      hidden: 2048,
      heads: 16,
      kvHeads: 4,
      ffn: 5504,
      sequenceLength: 2048,
      tensor: 2,
      pipeline: 2,
      microBatch: 4,
      globalBatch: 32,
      gpusPerNode: 8,
      nodes: 1,
      zeroStage: 0,
      activation: 'silu',
      precision: 'bf16',
      recomputeGranularity: 'none',
    },
  };
  for (const [fixture, facts] of Object.entries(expected))
    it(`gives every fact of ${fixture}`, () => {
      const file = readText(readFileSync(path.join(fixtures, fixture), 'utf8'));
      const all = values({ ...megatronDefaults(file.facts), ...file.facts });
      const names = Object.keys(facts) as FactName[];
      assert.deepEqual(Object.fromEntries(names.map((name) => [name, all[name] ?? null])), facts);
      assert.deepEqual(file.remarks, []);
    });

  it('finds this many facts in each', () => {
    const counts = Object.keys(expected).map((fixture) => Object.keys(factsOf(readFileSync(path.join(fixtures, fixture), 'utf8'))).length);
    assert.deepEqual(counts, [13, 30, 17, 21]);
  });
});

describe('the shell reader', () => {
  const line = 'torchrun --nproc_per_node 8 --standalone pretrain_gpt.py --num-layers 32 --hidden-size=64 --bf16 $MORE\n';

  it('reads a plain command line', () => {
    assert.deepEqual(factsOf(line), { nodes: 1, gpusPerNode: 8, layers: 32, hidden: 64, precision: 'bf16' });
    assert.equal(written(readText(line), 'hidden'), '64');
  });

  it('reads every way to launch', () => {
    const flags = 'pretrain_gpt.py --num-layers 2 --hidden-size 4';
    assert.equal(factsOf(`srun -N 4 --ntasks-per-node=8 python -u ${flags}`).nodes, 4);
    assert.equal(factsOf(`srun -N 4 --ntasks-per-node=8 python -u ${flags}`).gpusPerNode, 8);
    assert.equal(factsOf(`mpirun -np 16 python ${flags}`).world, 16);
    assert.equal(factsOf(`deepspeed --num_nodes 2 --num_gpus 4 ${flags}`).gpusPerNode, 4);
    assert.equal(factsOf(`python -m torch.distributed.launch --nnodes=2 ${flags}`).nodes, 2);
    assert.equal(factsOf(`CMD="torchrun ${flags}"\necho $CMD\neval $CMD`).layers, 2);
    assert.equal(factsOf(`N=7\nsrun -n 8 bash -c "torchrun ${flags} --seq-length $N --lr \\"1\\""`).sequenceLength, 7);
    assert.equal(factsOf(`run() {\n  torchrun ${flags} --seq-length $1\n}\nrun 9`).sequenceLength, 9);
    assert.equal(factsOf(`torchrun ${flags} 2>&1 | tee log`).layers, 2);
  });

  it('places a value where its literal is', () => {
    const file = readText('A=${SIZE:-"12"}\nB=$A\nF="--hidden-size $B"\nL=(--num-layers "$((A*2))")\ntorchrun $F "${L[@]}"');
    assert.deepEqual(values(file.facts), { layers: 24, hidden: 12 });
    assert.equal(written(file, 'hidden'), '12');
    assert.equal(written(file, 'layers'), '$((A*2))');
  });

  it('reads offsets after characters beyond the basic plane', () => {
    assert.equal(written(readText('# 😀😀\nX="😀"\ntorchrun --num-layers 3 --hidden-size "12" # é'), 'hidden'), '12');
  });

  it('lets the last assignment and the last of a repeated flag win', () => {
    assert.equal(factsOf('N=1\nN=2\ntorchrun --num-layers 5 --num-layers $N --hidden-size 4\nN=3').layers, 2);
  });

  it('appends to lists and strings', () => {
    assert.deepEqual(factsOf('A=(--num-layers 1)\nA+=(--bf16)\nS="--hidden-size 3"\nS+=" --seq-length 7"\ntorchrun ${A[*]} $S'), {
      layers: 1,
      hidden: 3,
      sequenceLength: 7,
      precision: 'bf16',
    });
  });

  it('joins adjacent pieces to one word, as a shell does, whatever sign follows a variable in it', () => {
    for (const sign of '/.,+~^*!-')
      for (const word of [`n=$A${sign}m=$B`, `$A/b$B${sign}c$A${sign}d`, `\${A}-b$1${sign}c`, `'x'n=$A${sign}m=$B"y"`]) {
        const flags = `"--save "${word}" --micro-batch-size "$A"$B"`;
        assert.equal(factsOf(`A=1\nB=2\nFLAGS=${flags}\npython pretrain_gpt.py --num-layers 4 $FLAGS\n`).microBatch, 12, word);
      }
  });

  it('leaves the signs of arithmetic what they are with variables', () => {
    const size = (expression: string): unknown => factsOf(`A=48\nB=2\npython pretrain_gpt.py --num-layers ${expression}\n`).layers;
    assert.deepEqual([size('$(($A/1/$B/3))'), size('$(( $A*$B-$B-4 ))'), size('$[ $A+1+$B+1 ]')], [8, 90, 52]);
  });

  it('judges conditions whose words are known', () => {
    const script = (size: string): string =>
      `SIZE=${size}\nif [[ $SIZE == 7B ]]; then N=32; elif [ "$SIZE" = 13B ]; then N=40; else N=80; fi\ncase $SIZE in 7B|13B) H=4 ;; *) H=8 ;; esac\n[ -z "$SIZE" ] && N=1\ntorchrun --num-layers $N --hidden-size $H`;
    assert.deepEqual(factsOf(script('7B')), { layers: 32, hidden: 4 });
    assert.deepEqual(factsOf(script('13B')), { layers: 40, hidden: 4 });
    assert.deepEqual(factsOf(script('70B')), { layers: 80, hidden: 8 });
    assert.deepEqual(factsOf(script('${1:-13B}')), { layers: 40, hidden: 4 });
    assert.deepEqual(readText(script('13B')).remarks, []);
  });

  it('keeps the plain value under a condition that nobody can judge, and reports it', () => {
    const file = readText('N=32\nif [ "$1" = big ]; then\n  N=80\n  A=(--bf16)\nfi\ntorchrun --num-layers $N --hidden-size 4 ${A[@]}');
    assert.equal(file.facts.layers?.value, 32);
    assert.deepEqual(
      file.remarks.map(({ code, severity, message }) => `${code} ${severity} ${say(message)}`),
      ['flag-conditional information --num-layers, --bf16 depend on "if [ "$1" = big ]", which is only known when the script runs'],
    );
  });

  it('has nothing on conditions that change no flag of ours', () => {
    assert.deepEqual(readText('if [ -n "$W" ]; then L+=(--wandb x); fi\ntorchrun --num-layers 2 --hidden-size 4 ${L[@]}').remarks, []);
  });

  it('leaves unknown what only a run can report', () => {
    const file = readText(
      'T=$(nproc)\nL=`cat f`\ntorchrun --tensor-model-parallel-size $T --num-layers $L --hidden-size $H --seq-length 8 --data-path $D',
    );
    assert.deepEqual(values(file.facts), { sequenceLength: 8 });
    assert.deepEqual(file.placeholders, ['H']);
    assert.deepEqual(
      file.remarks.map(({ code, message }) => `${code}: ${say(message)}`),
      [
        'flag-unknown-value: --tensor-model-parallel-size takes a value that is only known when the script runs',
        'flag-unknown-value: --num-layers takes a value that is only known when the script runs',
        'flag-unknown-value: --hidden-size takes $H, which is only known when the script runs',
      ],
    );
  });

  it('reads the DeepSpeed JSON of a here-document at its place in the script', () => {
    const file = readText(
      'Z=1\ncat <<EOF > ds.json\n{ "train_batch_size": 64,\n  "zero_optimization": { "stage": $Z } }\nEOF\ntorchrun --num-layers 2 --hidden-size 4',
    );
    assert.equal(file.facts.zeroStage?.value, 1);
    assert.equal(written(file, 'zeroStage'), '1');
    assert.equal(
      file.text.indexOf('Z=1') + 2,
      file.facts.zeroStage.source.kind === 'file' ? file.facts.zeroStage.source.place.range.start : -1,
    );
    assert.equal(file.facts.globalBatch?.value, 64);
    assert.equal(written(file, 'globalBatch'), '64');
  });

  it('reads the header for the batch system', () => {
    const file = readText(
      '#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --gres=gpu:a100:8\ntorchrun --nnodes ${SLURM_NNODES:-1} x.py --num-layers 2 --hidden-size 4',
    );
    assert.equal(file.facts.nodes?.value, 4);
    assert.equal(file.facts.gpusPerNode?.value, 8);
    assert.equal(written(file, 'nodes'), '4');
  });

  it('reads a file of arguments', () => {
    const file = readText('# all of them\n--num-layers 4 # few\n--moe-layer-freq ([0]*1+[1]*3)\n--hidden-size="8"\n--bf16\n');
    assert.deepEqual(values(file.facts), { layers: 4, hidden: 8, moeLayerFrequency: '([0]*1+[1]*3)', precision: 'bf16' });
    assert.equal(written(file, 'hidden'), '8');
    assert.equal(factsOf('--num-layers\n4\n--hidden-size\n8\n').hidden, 8);
  });

  it('removes a flag so that the rest stays well-formed', () => {
    const cases: readonly (readonly [string, string])[] = [
      ['torchrun x.py \\\n  --num-layers 2 \\\n  --hidden-size 4\n', 'torchrun x.py \\\n  --hidden-size 4\n'],
      ['torchrun x.py \\\n  --hidden-size 4 \\\n  --num-layers 2\n', 'torchrun x.py \\\n  --hidden-size 4\n'],
      ['A=(\n  --num-layers 2 # two\n  --hidden-size 4\n)\ntorchrun ${A[@]}', 'A=(\n  # two\n  --hidden-size 4\n)\ntorchrun ${A[@]}'],
      ['A=(--num-layers "2" --hidden-size 4)\ntorchrun ${A[@]}', 'A=(--hidden-size 4)\ntorchrun ${A[@]}'],
      ['A="--hidden-size 4 --num-layers 2"\ntorchrun $A', 'A="--hidden-size 4"\ntorchrun $A'],
      ['A="\\\n  --num-layers 2 \\\n  --hidden-size 4"\ntorchrun $A', 'A="\\\n  --hidden-size 4"\ntorchrun $A'],
      ['A="--hidden-size 4 --num-layers "2"\n"\ntorchrun $A', 'A="--hidden-size 4\n"\ntorchrun $A'],
      ['A="--num-layers "2" --hidden-size 4"\ntorchrun $A', 'A="--hidden-size 4"\ntorchrun $A'],
      ['N=2\ntorchrun --num-layers $N --hidden-size 4', 'N=2\ntorchrun --hidden-size 4'],
      ['N=2\ntorchrun --hidden-size 4 "--num-layers=$N"', 'N=2\ntorchrun --hidden-size 4'],
    ];
    for (const [text, expected] of cases) assert.equal(without(readText(text), 'layers'), expected);
  });

  it('removes any one flag of the fixtures and leaves the other facts as they are', () => {
    for (const fixture of ['arrays.sh', 'defaults.sh', 'quoted.sh', 'here-document.sh']) {
      const file = readText(readFileSync(path.join(fixtures, fixture), 'utf8'));
      for (const [name, fact] of Object.entries(file.facts) as [FactName, { name?: string; whole?: object }][]) {
        const text = without(file, name);
        assert.ok(text, `${fixture}: ${name}`);
        const gone = Object.entries(file.facts)
          .filter(([, other]) => other.name === fact.name)
          .map(([other]) => other);
        const left = readText(text);
        assert.deepEqual(left.remarks, []);
        const kept = Object.keys(file.facts).filter((other) => !gone.includes(other) && other in left.facts);
        assert.ok(kept.length >= Object.keys(file.facts).length - gone.length, `${fixture}: ${name} took others along`);
        assert.ok(!Object.values(left.facts).some((other) => other.name === fact.name), `${fixture}: ${name} is still there`);
      }
    }
  });

  it('offers no removal where flag and value are apart', () => {
    const file = readText('F=--num-layers\nV="2 --hidden-size 4"\ntorchrun $F $V');
    assert.deepEqual(values(file.facts), { layers: 2, hidden: 4 });
    assert.equal(file.facts.layers?.whole, undefined);
  });
});

describe('isMegatronShell', () => {
  it('knows launch scripts and argument files by their flags', () => {
    for (const fixture of ['arrays.sh', 'defaults.sh', 'quoted.sh', 'here-document.sh'])
      assert.ok(isMegatronShell(readFileSync(path.join(fixtures, fixture), 'utf8')), fixture);
    assert.ok(isMegatronShell('--num-layers\n4\n--hidden-size\n8\n'));
  });

  it('does not take other scripts, YAML and comments', () => {
    assert.ok(!isMegatronShell('#!/bin/bash\nset -e\ncp --force a b\n'));
    assert.ok(!isMegatronShell('MODEL_ARGS:\n  --num-layers: 4\n  --hidden-size: 8\n'));
    assert.ok(!isMegatronShell('# use --num-layers 4 --hidden-size 8\nls --block-size 4\n'));
  });
});
