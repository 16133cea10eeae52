/* global acquireVsCodeApi */
acquireVsCodeApi().postMessage('ready');
