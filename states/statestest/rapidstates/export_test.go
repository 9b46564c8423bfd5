package rapidstates

// Seeds is seeds.
var Seeds = seeds
