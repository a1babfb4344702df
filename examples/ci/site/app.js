"use strict";
document.addEventListener("DOMContentLoaded", () => {
  document.getElementById("offer").textContent = "Today's offer: three apples for the price of two.";
});
