/** A GPT of 24 layers on 8 stages. */
export const smallConfig = `{
  "model": { "layers": 24, "hidden": 4096, "heads": 32, "vocab": 50304 },
  "cluster": { "gpu": "H100-80GB", "nodes": 1, "gpusPerNode": 8 },
  "training": { "sequenceLength": 2048, "globalBatch": 32, "microBatch": 1 },
  "layout": { "tensor": 1, "pipeline": 8, "data": 1 },
  "schedule": "1F1B"
}
`;
