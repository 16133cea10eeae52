import type { ModelDetails } from '../domain/settings/model-details';
import { own } from '../records';

/*
 * What the code of a class does where its configs have no key for it. Source: modelling classes of transformers 5.23, and for the classes
 * that are not in it the repositories that the families name.
 */

/** Details that every model of the classes has, whatever its config sets. */
const ofEveryModel: readonly (readonly [details: ModelDetails, classes: string])[] = [
  [
    { rotaryInterleaved: true },
    `GPTJConfig, CodeGenConfig, CohereConfig, Cohere2Config, Cohere2MoeConfig, DeepseekV2Config, DeepseekV32Config, GlmConfig, Glm4Config,
    Glm4vTextConfig, GlmOcrTextConfig, GlmMoeDsaConfig, Ernie4_5Config, Ernie4_5_MoeConfig, HeliumConfig, Llama4TextConfig, ChatGLMConfig,
    ModelArgs of Llama, ModelArgs of DeepSeek`,
  ],
  [
    { normUnitOffset: true },
    `GemmaConfig, Gemma2Config, Gemma3TextConfig, VaultGemmaConfig, NemotronConfig, Qwen3NextConfig, Qwen3_5TextConfig,
    Qwen3_5MoeTextConfig, MiniMaxM3VLTextConfig, MuseGlimmerTextConfig`,
  ],
  [
    { parallelResidual: true },
    'GPTJConfig, CodeGenConfig, PhiConfig, CohereConfig, Cohere2Config, Cohere2MoeConfig, CohereCompassTextConfig',
  ],
  [{ normPlacement: 'output' }, 'Olmo2Config, Olmo3Config, FlexOlmoConfig, Exaone4Config'],
  [
    { normPlacement: 'post' },
    `OpenAIGPTConfig, BertConfig, RobertaConfig, CamembertConfig, XLMRobertaConfig, DistilBertConfig, BartConfig, MvpConfig, PLBartConfig,
    MarianConfig, BlenderbotSmallConfig`,
  ],
  [{ normResidual: true }, 'MiniMaxConfig'],
  [{ attentionScale: 1 }, 'GPTNeoConfig, T5Config, MT5Config, UMT5Config'],
  [{ activation: 'gelu' }, 'MptConfig'],
  [{ activation: 'gelu_pytorch_tanh' }, 'BloomConfig, OpenAIGPTConfig, MT5Config, UMT5Config'],
  [{ activation: 'relu' }, 'CTRLConfig, T5Config'],
  [{ activation: 'silu' }, 'DbrxConfig, Params of open_lm'],
  [{ activation: 'quick_gelu', gluOffset: 1 }, 'GptOssConfig, MiniMaxM3VLTextConfig'],
  // Baichuan's only where it has no rotary positions
  [{ alibi: true }, 'BloomConfig, BaichuanConfig'],
];

/** Details of the routers of classes whose configs may set another value by a key. */
const ofRouters: readonly (readonly [details: ModelDetails, classes: string])[] = [
  [
    { routerScore: 'sigmoid', routerExpertBias: true },
    `AXK1Config, AfmoeConfig, BeamConfig, DeepseekV32Config, DeepseekV3Config, Dots1Config, ExaoneMoeConfig, Glm4MoeConfig,
    Glm4MoeLiteConfig, Glm4vMoeTextConfig, GlmMoeDsaConfig, HYV3Config, Kolibri1Config, MiniMaxM2Config, MiniMaxM3VLTextConfig,
    NemotronHConfig, SolarOpenConfig`,
  ],
  [{ routerScore: 'sigmoid' }, 'FlintConfig, Llama4TextConfig'],
  [{ routerExpertBias: true }, 'Ernie4_5_MoeConfig'],
  [{ routerInputScaling: true, routerNormalised: false }, 'Llama4TextConfig'],
  [{ routerNormalised: false }, 'JambaConfig'],
  [
    { routerNormalised: true },
    `AfmoeConfig, AriaTextConfig, DbrxConfig, Ernie4_5_MoeConfig, GptOssConfig, GraniteMoeConfig, GraniteMoeSharedConfig,
    GraniteMoeSWAConfig, GraniteMoeHybridConfig, HYV3Config, HunYuanMoEV1Config, MiniMaxConfig, MiniMaxM2Config, MiniMaxM3VLTextConfig,
    MixtralConfig, Qwen3VLMoeTextConfig, Qwen3_5MoeTextConfig`,
  ],
];

/** Classes some of whose layers have no rotary positions: one in each period unless the config lists them, or those without a window. */
export const noRopeInterval: Readonly<Record<string, number>> = { SmolLM3Config: 4, Llama4TextConfig: 4 };
export const noRopeInWholeLayers: ReadonlySet<string> = new Set([
  'AfmoeConfig',
  'Cohere2Config',
  'Cohere2MoeConfig',
  'Exaone4Config',
  'ExaoneMoeConfig',
]);

/** Keys of the activation, and those of classes that read only one of them. */
export const usualActivationKeys = ['hidden_activation', 'mlp_hidden_act', 'hidden_act', 'activation_function', 'activation', 'ffn_act_fn'];
export const activationKeys: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    ['GPT2', 'GPTBigCode', 'GPTJ', 'GPTNeo', 'CodeGen', 'OPT'].map((name) => [`${name}Config`, ['activation_function']] as const),
  ),
  FalconConfig: ['activation'],
};

/** Names of one activation. */
export const activationAliases: Readonly<Record<string, string>> = {
  swish: 'silu',
  swiglu: 'silu',
  gelu_new: 'gelu_pytorch_tanh',
  gelu_fast: 'gelu_pytorch_tanh',
  gelu_accurate: 'gelu_pytorch_tanh',
  gelu_python_tanh: 'gelu_pytorch_tanh',
  gelu_python: 'gelu',
  relu_squared: 'relu2',
  squared_relu: 'relu2',
};

export const classDetailsAlways = byClass(ofEveryModel);
export const classRouters = byClass(ofRouters);

function byClass(rows: typeof ofEveryModel): Readonly<Record<string, ModelDetails>> {
  const found: Record<string, ModelDetails> = {};
  for (const [details, classes] of rows) for (const name of classes.split(/,\s+/)) found[name] = { ...own(found, name), ...details };
  return found;
}
