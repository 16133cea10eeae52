import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { nvidia } from '../../../../../src/core/launchers/megatron/forks/nvidia';
import type { FactName, Facts } from '../../../../../src/core/run/facts';
import { megatronDefaults } from '../../../../../src/core/launchers/megatron/megatron-defaults';
import type { LocatedFlag } from '../../../../../src/core/launchers/tables/located-flag';
import { flagKey, flagWords, megatronFacts, megatronRemarks } from '../../../../../src/core/launchers/megatron/megatron-flags';
import { leftOutFlags } from '../../../../../src/core/launchers/megatron/left-out-flags';
import { flagNames } from '../../../../../src/core/launchers/megatron/flag-names';
import { unknownFlags } from '../../../../../src/core/launchers/megatron/unknown-flags';
import { say } from '../../../../../src/core/sentence';

/** Flags of one line, located in it; `?` is a word that is known only at run time. */
function flagsOf(line: string): ReadonlyMap<string, LocatedFlag> {
  const flags = new Map<string, LocatedFlag>();
  for (const match of line.matchAll(/(--[\w-]+)((?: (?!--)\S+)*)/g)) {
    const [, name = '', rest = ''] = match;
    const place = (offset: number, length: number): LocatedFlag['place'] => ({ file: 'f', range: { start: offset, end: offset + length } });
    const words = [...rest.matchAll(/\S+/g)].map((word) => ({
      text: word[0] === '?' ? null : word[0],
      place: place(match.index + name.length + word.index, word[0].length),
    }));
    flags.set(flagKey(name), {
      name,
      place: place(match.index, name.length),
      words,
      whole: { start: match.index, end: match.index + match[0].length },
    });
  }
  return flags;
}

function values(facts: Facts): Partial<Record<FactName, unknown>> {
  return Object.fromEntries(Object.entries(facts).map(([name, fact]) => [name, fact.value]));
}

const read = (line: string): Partial<Record<FactName, unknown>> => values(megatronFacts(flagsOf(line)));

describe('megatronFacts', () => {
  it("reads the vocabulary that BigScience's fork pads to", () => {
    assert.deepEqual(read('--num-layers 70 --pad-vocab-size-to 250880 --tokenizer-type PretrainedFromHF'), { layers: 70, vocab: 250_880 });
  });

  it('reads sizes, words and switches', () => {
    assert.deepEqual(
      read('--num-layers 32 --swiglu --untie-embeddings-and-output-weights --position-embedding-type rope --normalization RMSNorm --bf16'),
      {
        layers: 32,
        activation: 'silu',
        gatedMlp: true,
        tiedEmbeddings: false,
        positions: 'rotary',
        norm: 'rmsnorm',
        precision: 'bf16',
      },
    );
  });

  it('reads that gradient accumulation is not fused, which launches otherwise leave open', () => {
    assert.deepEqual(read('--no-gradient-accumulation-fusion'), { gradAccumulationFusion: false });
    assert.equal(read('--bf16').gradAccumulationFusion, undefined);
  });

  it('reads narrow formats and how FP8 is scaled', () => {
    assert.deepEqual(read('--bf16 --fp8-format hybrid --fp8-recipe mxfp8'), { precision: 'fp8', fp8Format: 'hybrid', fp8Recipe: 'mxfp8' });
    assert.deepEqual(read('--bf16 --fp4-format e2m1'), { precision: 'nvfp4' });
    // a recipe of the user's own, or of a fork
    assert.deepEqual(read('--bf16 --fp8-format e4m3 --fp8-recipe custom'), { precision: 'fp8', fp8Format: 'e4m3' });
    assert.deepEqual(megatronRemarks(flagsOf('--fp8-format e4m3 --fp8-recipe groupwise'), nvidia), []);
  });

  it('reads dropout, the loss and collectives with GEMMs', () => {
    assert.deepEqual(read('--hidden-dropout 0.0 --attention-dropout 0.1 --tp-comm-overlap'), {
      hiddenDropout: 0,
      attentionDropout: 0.1,
      attentionDropoutShare: 0.1,
      asyncTensorParallel: true,
    });
    assert.deepEqual(read('--cross-entropy-loss-fusion'), { fusedCrossEntropy: true });
    assert.deepEqual(read('--grad-reduce-in-bf16'), { gradAccumulationFp32: false });
    assert.deepEqual(read('--accumulate-allreduce-grads-in-fp32'), { gradAccumulationFp32: true });
    const { hiddenDropout, attentionDropout, fusedCrossEntropy } = megatronDefaults({});
    assert.deepEqual([hiddenDropout?.value, attentionDropout?.value, fusedCrossEntropy?.value], [0.1, 0.1, false]);
  });

  it('takes the YAML spelling of switches', () => {
    assert.deepEqual(read('--sequence-parallel false --untie-embeddings-and-output-weights False --bf16 false --fp16 true'), {
      sequenceParallel: false,
      tiedEmbeddings: true,
      precision: 'fp16',
    });
  });

  it('places a fact at its value, or at the flag of a switch', () => {
    const line = '--num-layers 32 --swiglu --rampup-batch-size 16 16 300';
    const facts = megatronFacts(flagsOf(line));
    const at = (name: FactName): string | null => {
      const source = facts[name]?.source;
      return source?.kind === 'file' ? line.slice(source.place.range.start, source.place.range.end) : null;
    };
    assert.equal(at('layers'), '32');
    assert.equal(at('gatedMlp'), '--swiglu');
    assert.equal(at('batchSchedule'), '16 16 300');
    assert.equal(facts.batchSchedule?.value, '16 16 300');
    assert.equal(facts.layers?.name, '--num-layers');
    assert.deepEqual(facts.layers.whole, { start: 0, end: 15 });
  });

  it('reads key-value heads as Megatron does', () => {
    assert.equal(read('--num-query-groups 8').kvHeads, undefined, 'ignored without the switch');
    assert.equal(read('--group-query-attention --num-query-groups 8').kvHeads, 8);
    assert.equal(read('--group-query-attention').kvHeads, 1);
    assert.equal(read('--group-query-attention --num-query-groups ?').kvHeads, undefined);
    assert.equal(read('--num-key-value-heads 4').kvHeads, 4);
  });

  it('derives what two flags set together', () => {
    assert.equal(read('--moe-ffn-hidden-size 1408 --moe-shared-expert-intermediate-size 5632').sharedExperts, 4);
    assert.equal(read('--ffn-hidden-size 1024 --moe-shared-expert-intermediate-size 1000').sharedExperts, undefined);
    assert.deepEqual(read('--num-layers 12 --decoder-num-layers 6'), { layers: 12, decoderLayers: 6, encoderLayers: 12 });
    assert.deepEqual(read('--encoder-seq-length 512'), { encoderSequenceLength: 512, sequenceLength: 512 });
  });

  it('prefers the explicit flag over the older switch', () => {
    assert.equal(read('--recompute-activations --recompute-granularity full').recomputeGranularity, 'full');
    assert.equal(read('--recompute-activations').recomputeGranularity, 'selective');
    assert.equal(read('--attention-backend unfused --use-flash-attn').attention, 'unfused');
    assert.equal(read('--attention-backend auto').attention, undefined);
  });

  it('reads windows, lists and offloading', () => {
    // a token and the 127 before it
    assert.equal(read('--window-size (127,0)').slidingWindow, 128);
    assert.equal(read('--window-size 127 0').slidingWindow, 128);
    assert.equal(read('--window-attn-skip-freq [1]*3+[0]').windowFrequency, '[1]*3+[0]');
    assert.equal(read('--window-size (-1,0)').slidingWindow, undefined);
    assert.deepEqual(read('--recompute-modules core_attn moe_act').recomputeModules, ['core_attn', 'moe_act']);
    assert.equal(read('--cpu-offloading-num-layers 4').cpuOffloading, true);
    assert.equal(read('--cpu-offloading-num-layers 0').cpuOffloading, false);
  });

  it('takes underscores for dashes, as torchrun does', () => {
    assert.deepEqual(read('--nproc_per_node 8 --nnodes 4'), { nodes: 4, gpusPerNode: 8 });
  });

  it('knows how many words belong to a flag', () => {
    assert.equal(flagWords('swiglu'), 'none');
    assert.equal(flagWords('num-layers'), 'one');
    assert.equal(flagWords('rampup-batch-size'), 'many');
    assert.equal(flagWords('merge-file'), undefined);
    assert.equal(flagWords('constructor'), undefined);
  });
});

describe('megatronRemarks', () => {
  it('names values that argparse refuses, and no unknown ones', () => {
    const flags = flagsOf(
      '--num-layers twelve --hidden-size -1 --seq-length 1e308 --num-attention-heads 0 --ffn-hidden-size ? --bf16 --recompute-granularity some',
    );
    assert.deepEqual(values(megatronFacts(flags)), { precision: 'bf16' });
    const remarks = megatronRemarks(flags, nvidia);
    assert.deepEqual(
      remarks.map(({ code, severity, message, remedy }) => [code, severity, say(message), say(remedy)].join('|')),
      [
        'flag-invalid-value|error|--num-layers is "twelve"|give it a whole number from 1 up',
        'flag-invalid-value|error|--hidden-size is "-1"|give it a whole number from 1 up',
        'flag-invalid-value|error|--seq-length is "1e308"|give it a whole number from 1 up',
        'flag-invalid-value|error|--num-attention-heads is "0"|give it a whole number from 1 up',
        'flag-invalid-value|error|--recompute-granularity is "some"|give it full, selective or none',
      ],
    );
    assert.deepEqual(remarks[0]?.place.range, { start: 13, end: 19 });
  });

  it('names a flag without its value', () => {
    assert.match(say(megatronRemarks(flagsOf('--num-layers --bf16'), nvidia)[0]!.message), /^--num-layers has no value$/);
  });
});

describe('megatronDefaults', () => {
  it('derives widths as validate_args does and repeats no given fact', () => {
    const facts = megatronFacts(
      flagsOf('--hidden-size 4096 --num-attention-heads 32 --swiglu --num-experts 8 --tensor-model-parallel-size 2'),
    );
    const defaults = megatronDefaults(facts);
    assert.equal(defaults.ffn?.value, 10880);
    assert.equal(defaults.expertFfn?.value, 10880);
    assert.equal(defaults.kvHeads?.value, 32);
    assert.equal(defaults.headDim?.value, 128);
    assert.equal(defaults.activeExperts?.value, 2);
    assert.equal(defaults.expertTensor?.value, 2);
    assert.equal(defaults.context?.source.kind, 'default');
    assert.equal(defaults.tensor, undefined);
    assert.equal(megatronDefaults({}).kvLoraRank, undefined);
  });
});

describe('flags that are known and not planned', () => {
  it('are reported with what they do, and widen the range of the plan', () => {
    const { names, remarks } = leftOutFlags(flagsOf('--num-layers 4 --swap-optimizer --swap-attention'));
    assert.deepEqual(names, ['--swap-optimizer', '--swap-attention']);
    assert.deepEqual(
      remarks.map(({ code, severity, message }) => `${severity} ${code} ${say(message)}`),
      [
        'information flag-left-out --swap-optimizer is left out of the plan: optimizer state on the host',
        'information flag-left-out --swap-attention is left out of the plan: activations on the host',
      ],
    );
    for (const flag of ['swap-optimizer', 'moe-fb-overlap', 'use-megatron-fsdp']) assert.ok(flagNames.has(flag), flag);
  });
});

describe('flags that nobody here knows', () => {
  const file = 'f';
  const unknown = (line: string) => unknownFlags(file, flagsOf(line));

  it('are reported where their name touches what is planned, and nowhere else', () => {
    const { names, remarks } = unknown(
      '--num-layers 4 --moe-zerc --log-frobnicate --noop-layers 1 --kill-switch-path x --no-moe-router-fusion',
    );
    assert.deepEqual(names, ['--moe-zerc']);
    assert.deepEqual(
      remarks.map(({ code, severity, message }) => `${severity} ${code} ${say(message)}`),
      ['information flag-unknown --moe-zerc is unknown; the plan ignores it'],
    );
  });

  it('are renamed where a letter is missing', () => {
    const [remark] = unknown('--num_layers_per_virtual_pipeline_stag 2').remarks;
    assert.equal(remark?.severity, 'warning');
    assert.equal(say(remark.remedy), 'did you mean --num_layers_per_virtual_pipeline_stage?');
    assert.deepEqual(
      remark.fixes.map(({ edits }) => edits.map(({ newText }) => newText)),
      [['--num_layers_per_virtual_pipeline_stage']],
    );
  });

  it('come from tables of names with the words that they take', () => {
    assert.ok(flagNames.size > 900);
    assert.equal(flagNames.get('bf16'), 'none');
    assert.equal(flagNames.get('num-layers'), 'one');
    assert.equal(flagNames.get('moe-intermediate-size'), 'one');
  });
});
