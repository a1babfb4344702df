import { defineConfig } from "vite";

// The pages of `wiretime ui`: files of fixed names beside each other, since their server's policy allows no script or style inside the page.
export default defineConfig({
  base: "./",
  publicDir: false,
  build: {
    outDir: "dist.new/app",
    modulePreload: false,
    target: "es2022",
    rolldownOptions: {
      input: "app.html",
      output: { entryFileNames: "app.js", assetFileNames: "app.[ext]", codeSplitting: false },
    },
  },
});
