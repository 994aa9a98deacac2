// What eslint refuses in this package; tests/project/lint/javascript.sh runs it. The rules of typescript-eslint that know
// types look at the sources, and those of eslint alone at the tests.
import eslint from "@eslint/js";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist/**"] },
  eslint.configs.recommended,
  {
    files: ["src/**/*.{ts,mts}"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: "./tsconfig.json", tsconfigRootDir: import.meta.dirname } },
    rules: {
      // A number in a text is written as one expects.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // `job.data<Order>()`: the caller says what the body is.
      "@typescript-eslint/no-unnecessary-type-parameters": "off",
    },
  },
  {
    files: ["test/**/*.mjs"],
    languageOptions: {
      globals: Object.fromEntries(
        ["AbortController", "Buffer", "URL", "console", "performance", "process", "setTimeout"].map((name) => [
          name,
          "readonly",
        ]),
      ),
    },
  },
);
